"""Make machine code of kernels only, not of the inner functions that become part of them.

Numba links every function that it compiles with all that it calls, optimises the whole and makes machine code of it,
whether anybody will call it from Python or not; what lies deep is optimised and assembled anew for every function
above it. Here an inner function waits as it was translated, and a kernel gathers all that lie below it, each once.
That halves the work of LLVM, which is a fifth of compiling, and changes no result.

A choice of passes is something Numba offers; the libraries of code below build on its inside, which may change. So
they are used with the versions of Numba for which they were tried; with others compiling takes longer, that is all.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode


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

    def run_pass(self, state: Any) -> bool:
        """Work with the library of kernels."""
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        return bool(super().run_pass(state))  # type: ignore[no-untyped-call]


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):
    """Translate an inner function for LLVM, and let kernels know it."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """Leave out machine code; a method of the library, which no other function has, stands for the entry to it."""
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.flags.no_compile = True
        changed = bool(super().run_pass(state))  # type: ignore[no-untyped-call]
        entry = state.library.__sizeof__
        state.cr = state.cr._replace(cfunc=entry)
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
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
        passes.add_pass(NopythonTypeInference, "types")
        passes.add_pass(PreLowerStripPhis, "back to variables")
        passes.add_pass(IRLegalization, "only what LLVM can express")
        passes.add_pass(self.lowering, "Numba's representation to that of LLVM")
        passes.add_pass(NoPythonBackend, "result")
        passes.finalize()
        return [passes]


class InnerCompiler(KernelCompiler):
    """Compile an inner function."""

    lowering = InnerLowering
