#!/usr/bin/env node
/** The bin. It sets the exit code and leaves the end to Node, which waits until all is written. */
import { processTerminal } from './process-terminal.ts'
import { yaoki } from './registry.ts'
import { runCli } from './run.ts'

process.exitCode = await runCli(process.argv.slice(2), processTerminal(process), yaoki)
