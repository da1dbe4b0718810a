/** The servers for test/runtimes: one that fails in every way that a fetch must handle, one with another origin, and a closed port. */
import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { startPostgres } from '../../test/support/real-postgres.ts'
import type { Urls } from './runtime.ts'
import { storyTeller } from './stories.ts'

export interface Servers {
	readonly urls: Urls
	close(): Promise<void>
}

const TYPES: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.html': 'text/html' }

const FAULTS: Readonly<Record<string, (response: ServerResponse) => void>> = {
	'/ok': (response) => response.end('ok'),
	'/hang': () => {},
	'/reset': (response) => response.destroy(),
	'/cut': (response) => {
		response.writeHead(200, { 'content-length': 1000 })
		response.write('the beginning', () => response.destroy())
	},
}

export async function startServers(folder: string): Promise<Servers> {
	const stories = storyTeller()
	const serve =
		(otherwise: (path: string, response: ServerResponse) => void): RequestListener =>
		(request, response) => {
			const path = request.url ?? '/'
			const tell = stories(path)
			if (tell) tell(request, response)
			else otherwise(path, response)
		}
	const faulty = await listen(
		serve((path, response) => {
			const answer = FAULTS[path] ?? (() => serveFile(folder, path, response))
			answer(response)
		}),
	)
	const api = await listen(serve((_, response) => response.writeHead(404).end()))
	// A port that was free a moment ago. Low ports would certainly be closed, but fetch itself rejects them.
	const dead = await listen(() => {})
	const deadUrl = urlOf(dead)
	await new Promise((resolve) => dead.close(resolve))
	const postgres = await startPostgres()
	const { user, password, host, port, database } = postgres.connection
	const postgresUrl = `postgres://${user}:${password}@${host}:${port}/${database}`
	return {
		urls: { deadUrl, faultyUrl: urlOf(faulty), apiUrl: urlOf(api), postgresUrl },
		close: async () => {
			await postgres[Symbol.asyncDispose]()
			for (const server of [faulty, api]) {
				server.closeAllConnections()
				server.close()
			}
		},
	}
}

async function serveFile(folder: string, path: string, response: ServerResponse): Promise<void> {
	try {
		const body = await readFile(join(folder, path))
		response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(body)
	} catch {
		response.writeHead(404).end(`there is no ${path}`)
	}
}

function listen(handle: RequestListener): Promise<Server> {
	// Closing an idle connection while a request is on its way would be a fault that no test asked for.
	const server = createServer({ keepAliveTimeout: 60_000 }, handle)
	return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
