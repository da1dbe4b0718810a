/** Runs the six programs of every library against a loopback server. Prints the lines of each. Part of `npm run bench`. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { cockatiel } from './cockatiel.ts'
import { kyPrograms } from './ky.ts'
import { pRetryPrograms } from './p-retry.ts'
import type { Programs } from './programs.ts'
import { yaoki } from './yaoki.ts'

const LIBRARIES: Readonly<Record<string, Programs>> = {
	yaoki,
	cockatiel,
	ky: kyPrograms,
	'p-retry': pRetryPrograms,
}

/** Fails the first request for each path with 503, except under /auth, where it wants the token `new`. */
function handler(): (request: IncomingMessage, response: ServerResponse) => void {
	const keys = new Map<string, unknown>()
	return ({ url = '', headers, method }, response) => {
		if (url.startsWith('/auth')) {
			response.writeHead(headers.authorization === 'Bearer new' ? 200 : 401).end('fine')
			return
		}
		const isFirst = !keys.has(url)
		const key = headers['idempotency-key']
		const isSame = method !== 'POST' || isFirst || (key !== undefined && keys.get(url) === key)
		keys.set(url, key)
		response.writeHead(isFirst ? 503 : isSame ? 200 : 409, { 'content-type': 'application/json' })
		response.end(isFirst ? '' : '{"name":"Ada"}')
	}
}

async function checkPrograms(programs: Programs, origin: string): Promise<void> {
	let calls = 0
	const failsTwice = async () => {
		if (++calls < 3) throw new Error('down')
		return 'fine'
	}
	assert.equal(await programs.retry(failsTwice), 'fine')
	assert.deepEqual(await programs.getJson(`${origin}/users/7`), { name: 'Ada' })

	let failures = 0
	const guarded = programs.breaker(async () => {
		failures++
		throw new Error('down')
	})
	for (let i = 0; i < 4; i++) assert.equal(await guarded(), 'default')
	assert.equal(failures, 2)

	let running = 0
	let mostRunning = 0
	const limited = programs.bulkhead(async () => {
		mostRunning = Math.max(mostRunning, ++running)
		await new Promise((resolve) => setImmediate(resolve))
		running--
		return 'fine'
	})
	const results = await Promise.allSettled(Array.from({ length: 5 }, limited))
	assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 4)
	assert.equal(mostRunning, 2)

	assert.equal(await programs.post(`${origin}/orders`), '{"name":"Ada"}')

	let refreshes = 0
	const session = {
		token: 'old',
		async refresh() {
			refreshes++
			await new Promise((resolve) => setImmediate(resolve))
			this.token = 'new'
		},
	}
	const get = programs.auth(session, origin)
	const texts = await Promise.all([get('/auth/a'), get('/auth/b')])
	assert.deepEqual([texts, refreshes], [['fine', 'fine'], 1])
}

/** Returns the lines of code of a file, without comments and blank lines. */
function linesOf(name: string): number {
	const text = readFileSync(new URL(`./${name}.ts`, import.meta.url), 'utf8')
	return text.split('\n').filter((line) => !/^\s*($|\/\/|\/?\*)/.test(line)).length
}

for (const [name, programs] of Object.entries(LIBRARIES)) {
	const server = createServer(handler())
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
	const address = server.address()
	await checkPrograms(programs, `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`)
	server.close()
	server.closeAllConnections()
	console.error(`${name}: ${linesOf(name)} lines`)
}
console.error(`by hand: ${linesOf('by-hand')} lines`)
