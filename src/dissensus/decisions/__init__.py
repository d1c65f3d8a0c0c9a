"""What people decide after an evaluation: which study to plan, whom to ask again, which judges and sets to trust."""
