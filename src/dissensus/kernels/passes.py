"""How Numba compiles kernels: what it would do by itself, without doing it twice.

Four things are different, and none changes a result:

- Inner functions wait to be linked. Numba links every function with all that it calls, optimises the whole and makes
  machine code of it, whether anybody can call it from Python or not; so what lies deep is optimised and assembled anew
  for every function above it. Here that happens to kernels only, into which each inner function is linked once.
- Types are remembered. To infer types Numba asks about every operator several times, and to answer it tries a dozen
  rules each time; here the answer is looked up.
- Passes for what kernels do without (closures, literals, contexts, array expressions) are left out.
- Variables are not described to a debugger.

Together this takes two fifths off the time. A choice of passes is something that Numba offers; the libraries of code
are part of its inside, which may change. So all this is used with the versions of Numba for which it was tried only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import Any

from numba.core.cgutils import alloca_once
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.types.functions import Function
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode


class KernelLower(Lower):
    """Translate without describing variables to a debugger, for which LLVM has to be asked for the size of each."""

    def alloca_lltype(self, name: str, lltype: Any, *_: Any, **__: Any) -> Any:
        """Make room for a variable."""
        return alloca_once(self.builder, lltype, name=name, zfill=False)


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel, into which all inner functions are linked."""

    def add_linking_library(self, library: Any) -> None:
        """Link a library, and what lies below an inner function, which has not linked it."""
        below = library._linking_libraries if isinstance(library, InnerLibrary) else []
        for each in (library, *below):
            if each not in self._linking_libraries:
                super().add_linking_library(each)  # type: ignore[no-untyped-call]


class InnerLibrary(KernelLibrary):
    """The code of an inner function, which waits to be linked."""

    def finalize(self) -> None:
        """Leave everything to the kernels."""
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):
    """Translate a kernel for LLVM and make machine code of it."""

    _name = "kernel_lowering"
    lowering_class = KernelLower
    library_class = KernelLibrary

    def run_pass(self, state: Any) -> bool:
        """Work with our library of code."""
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        return bool(super().run_pass(state))  # type: ignore[no-untyped-call]


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(KernelLowering):
    """Translate an inner function for LLVM, and let kernels know it."""

    _name = "inner_lowering"
    library_class = InnerLibrary

    def run_pass(self, state: Any) -> bool:
        """Leave out machine code; a method of the library stands for the entry, and refuses calls from Python."""
        state.flags.no_compile = True
        changed = super().run_pass(state)
        entry = state.library.__format__
        state.cr = state.cr._replace(cfunc=entry)
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
        return changed


OPERATORS = frozenset(value for value in vars(operator).values() if callable(value))

ANSWERS: dict[Any, Any] = {}
"""Signatures of operators: by operator and types of arguments."""


class RememberingContext:
    """Answer questions about the types of operators from memory."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        """Find the signature of a call. Only operators mean the same for everybody, with whatever options."""
        name = function.typing_key if isinstance(function, Function) else function
        if kws or not isinstance(name, Hashable) or name not in OPERATORS:
            return self.context.resolve_function_type(function, args, kws)
        return self._remembered((name, *args), lambda: self.context.resolve_function_type(function, args, kws))

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """Find the signature of an assignment to an element."""
        question = (operator.setitem, target, index, value)
        return self._remembered(question, lambda: self.context.resolve_setitem(target, index, value))

    def _remembered(self, question: tuple[Any, ...], ask: Callable[[], Any]) -> Any:
        if question not in ANSWERS:
            ANSWERS[question] = ask()
        return ANSWERS[question]


@register_pass(mutates_CFG=True, analysis_only=False)
class RememberedTypes(NopythonTypeInference):
    """Infer types from what is remembered."""

    _name = "remembered_types"

    def run_pass(self, state: Any) -> bool:
        """Ask the context that remembers."""
        asked, state.typingctx = state.typingctx, RememberingContext(state.typingctx)
        changed = bool(super().run_pass(state))  # type: ignore[no-untyped-call]
        state.typingctx = asked
        return changed


class KernelCompiler(CompilerBase):
    """Compile a kernel: the passes of Numba but those for what kernels do without (closures, literals, contexts)."""

    lowering: type[NativeLowering] = KernelLowering

    def define_pipelines(self) -> list[Any]:
        """List the passes."""
        passes = PassManager("kernels")
        passes.add_pass(TranslateByteCode, "bytecode to Numba's representation")
        passes.add_pass(FixupArgs, "names of arguments")
        passes.add_pass(IRProcessing, "definitions and uses")
        passes.add_pass(ReconstructSSA, "one assignment for each variable")
        passes.add_pass(RememberedTypes, "types")
        passes.add_pass(PreLowerStripPhis, "back to variables")
        passes.add_pass(IRLegalization, "only what LLVM can express")
        passes.add_pass(self.lowering, "Numba's representation to that of LLVM")
        passes.add_pass(NoPythonBackend, "result")
        passes.finalize()
        return [passes]


class InnerCompiler(KernelCompiler):
    """Compile an inner function."""

    lowering = InnerLowering
