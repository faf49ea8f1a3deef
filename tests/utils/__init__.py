"""The faces that programs written for Agere import."""
