"""From LLVM's language to machine code in memory: the processor, LLVM at work, objects and notes on disk."""
