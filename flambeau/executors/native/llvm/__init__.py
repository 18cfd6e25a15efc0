"""Writing LLVM code and turning it into machine code."""
