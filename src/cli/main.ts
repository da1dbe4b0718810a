#!/usr/bin/env node
/**
 * The `yaoki` executable. Standard output is reserved for the result: other writes to it, for example a
 * `console.log` in a user's file, go to standard error. The process ends when all is written, even if a
 * user's file left a timer or a connection open.
 */
import { yaoki } from './commands.ts'
import { runCli } from './run.ts'
import { processTerminal } from './terminal.ts'

const terminal = processTerminal(process)
process.stdout.write = process.stderr.write.bind(process.stderr)
const code = await runCli(process.argv.slice(2), terminal, yaoki)
await terminal.flush()
process.exit(code)
