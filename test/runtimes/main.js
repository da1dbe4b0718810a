/** The suite on Node, Bun and Deno. Its last line is the result, for scripts/runtimes.ts. */
import { AsyncLocalStorage } from 'node:async_hooks'
import process from 'node:process'
import { ambient } from 'yaoki/node'
import { runSuite } from './suite.js'

const [deadUrl, faultyUrl] = process.argv.slice(2)
console.log(JSON.stringify(await runSuite({ deadUrl, faultyUrl, AsyncLocalStorage, ambient })))
