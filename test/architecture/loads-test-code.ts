/** Imports what production entries must not load, for the test that looks for it. */
import 'node:assert'
