#!/usr/bin/env node
/**
 * The bin. Standard output belongs to the answer: what else is written there, by a `console.log` in a file of the user, goes
 * to standard error. The process is ended once all is written, for such a file may have left a timer or a connection open.
 */
import { processTerminal } from './process-terminal.ts'
import { yaoki } from './registry.ts'
import { runCli } from './run.ts'

const terminal = processTerminal(process)
process.stdout.write = process.stderr.write.bind(process.stderr)
const code = await runCli(process.argv.slice(2), terminal, yaoki)
await terminal.written()
process.exit(code)
