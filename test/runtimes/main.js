/** Runs the suite on Node, Bun and Deno. The last line of the output is the result, for scripts/runtimes.ts. */
import { AsyncLocalStorage } from 'node:async_hooks'
import process from 'node:process'
import { withAmbientContext } from 'yaoki/node'
import { runSuite } from './suite.js'

const { Bun, Deno } = globalThis

/** The server of the runtime that takes fetch handlers. Node has none. */
const serve = (Bun && serveWithBun) ?? (Deno && serveWithDeno)

function serveWithBun(fetch) {
	const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch })
	return { url: `http://127.0.0.1:${server.port}/`, stop: () => server.stop(true) }
}

function serveWithDeno(handle) {
	const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, handle)
	return { url: `http://127.0.0.1:${server.addr.port}/`, stop: () => server.shutdown() }
}

const urls = JSON.parse(process.argv[2])
const result = JSON.stringify(await runSuite({ ...urls, AsyncLocalStorage, withAmbientContext, serve }))
process.stdout.write(`${result}\n`)
