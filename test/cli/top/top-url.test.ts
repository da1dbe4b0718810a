/** `yaoki top URL` with servers on loopback. */
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { run, start } from '../outbox/run-yaoki.ts'
import { EMPTY, OVERVIEW, screenOf } from './setup.ts'

type OnRequest = (request: IncomingMessage, response: ServerResponse) => void

/** Starts a server and returns its origin. */
async function serve(onRequest: OnRequest): Promise<string> {
	const server = createServer(onRequest)
	onTestFinished(() => {
		server.close()
		server.closeAllConnections()
	})
	return `http://127.0.0.1:${await listen(server)}`
}

const answer =
	(status: number, body: unknown): OnRequest =>
	(_, response) => {
		response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
	}

const overview = answer(200, OVERVIEW)

describe('yaoki top URL', () => {
	test.each(['', '/', '/ops/retries', '/ops/retries/?lang=ja#calls'])(
		'reads the API below the page %j',
		async (page) => {
			const paths: (string | undefined)[] = []
			const origin = await serve((request, response) => {
				paths.push(request.url)
				overview(request, response)
			})
			const { code, stdout } = await run(['top', origin + page, '--once'])
			expect(code).toBe(0)
			expect(stdout).toContain('payments: ')
			const base = page.startsWith('/ops') ? '/ops/retries' : ''
			expect(paths).toEqual([`${base}/_yaoki/api/overview`])
			expect(stdout.split('\n')[0]).toBe(`${origin}${base}: process 4711 on shop-1, up 5 min`)
		},
	)

	test('prints one document with --json', async () => {
		const origin = await serve(overview)
		const { code, stdout, stderr } = await run(['top', origin, '--json'])
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
		expect(JSON.parse(stdout)).toEqual(OVERVIEW)
	})

	test('sends the headers of the arguments and of a file, but not those of yaoki relay', async () => {
		const file = join(temporaryFolder(), 'headers.txt')
		writeFileSync(file, 'authorization: Bearer from-the-file\n', { mode: 0o600 })
		const seen: IncomingMessage['headers'][] = []
		const origin = await serve((request, response) => {
			seen.push(request.headers)
			overview(request, response)
		})
		const headers = ['--header', 'x-one: 1', '-H', 'x-two: 2', '--header-file', file]
		const { code } = await run(['top', origin, '--once', ...headers], { YAOKI_HEADERS: 'x-relay: secret' })
		expect(code).toBe(0)
		expect(seen[0]).toMatchObject({ authorization: 'Bearer from-the-file', 'x-one': '1', 'x-two': '2' })
		expect(seen[0]).not.toHaveProperty('x-relay')
	})

	test.each([
		['a server that asks for a sign-in', 6, answer(401, { code: 'unauthorized', message: 'no' }), '--header'],
		['a server that rejects the token', 6, answer(403, { code: 'forbidden', message: 'no' }), '--header'],
		['another page', 3, answer(404, 'not here'), 'Give the URL of its page'],
		['another API', 3, answer(200, { process: {}, problems: [] }), 'Give the URL of its page'],
		['an error of the dashboard', 1, answer(500, { code: 'failed', message: 'disk full' }), 'disk full'],
	])('%s ends the command with exit code %i', async (_, expected, respond, hint) => {
		const { code, stdout, stderr } = await run(['top', await serve(respond)])
		expect(code).toBe(expected)
		expect(stdout).toBe('')
		expect(stderr).toContain(hint)
	})

	const html: OnRequest = (_, response) =>
		void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>hunter2</h1>')

	test.each([
		['a page', html, 'HTTP 200 with text/html, not an overview'],
		['a text that is no JSON', answer(200, undefined), 'not an overview'],
		['null', answer(200, null), 'not an overview'],
		['a list', answer(200, [OVERVIEW]), 'not an overview'],
		['another API', answer(200, { at: 'hunter2' }), 'not an overview'],
	])('%s of a wrong server is named, without its contents', async (_, respond, expected) => {
		const origin = await serve(respond)
		const { code, stdout, stderr } = await run(['top', origin, '--json'])
		expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
		expect(stderr).toContain(`There is no dashboard at ${origin} (`)
		expect(stderr).toContain(expected)
		expect(stderr).toContain('Give the URL of its page in a browser')
		expect(stderr).not.toContain('hunter2')
	})

	test('a server with another version of the overview is named', async () => {
		const { code, stderr } = await run([
			'top',
			await serve(answer(200, { ...OVERVIEW, format: 0 })),
			'--once',
		])
		expect(code).toBe(3)
		expect(stderr).toContain('have different versions of Yaoki')
		expect(stderr).toContain('Use the version of the server')
	})

	test('does not follow a redirect, which would send the token to another page', async () => {
		const other: (string | undefined)[] = []
		const login = await serve((request, response) => {
			other.push(request.url)
			overview(request, response)
		})
		const origin = await serve((_, response) => void response.writeHead(302, { location: login }).end())
		const { code } = await run(['top', origin, '--once', '--header', 'authorization: Bearer abc'])
		expect(code).toBe(6)
		expect(other).toEqual([])
	})

	test('exits with 5 if no server is there at the begin', async () => {
		const { code, stderr } = await run(['top', 'http://127.0.0.1:1/ops'])
		expect(code).toBe(5)
		expect(stderr).toContain('Cannot reach http://127.0.0.1:1/ops: ')
		expect(stderr).toContain('Is the server running?')
	})

	test.each([
		[['postgres://localhost/shop'], '--database'],
		[['shop.db'], '--database'],
		[['shop'], 'must start with http://'],
		[['http://ada:hunter2@127.0.0.1'], 'must not contain a password'],
		[['http://127.0.0.1', '--database', 'shop.db'], '--database requires'],
		[['--header', 'a: b'], '--header requires the URL'],
		[['http://127.0.0.1', '--header', 'nonsense'], "must have the form 'name: value'"],
		[['http://127.0.0.1', '--seconds', '0'], '--seconds'],
		[['http://127.0.0.1:1', '--seconds', '2', '--once'], '--seconds cannot be combined with --once.'],
		[['http://127.0.0.1:1', '-s', '5', '--json'], '--seconds cannot be combined with --json.'],
		[['--database', 'shop.db', '--seconds', '5', '--once'], '--seconds cannot be combined with --once.'],
	])('rejects %j', async (args, message) => {
		const { code, stderr } = await run(['top', ...args])
		expect(code).toBe(2)
		expect(stderr).toContain(message)
		expect(stderr).not.toContain('hunter2')
	})
})

describe('until Ctrl-C', () => {
	/** A server that can be down, with an overview that changes with each request. */
	async function changing() {
		const state = { isDown: false, requests: 0 }
		const origin = await serve((request, response) => {
			if (state.isDown) return void response.destroy()
			state.requests += 1
			answer(200, { ...EMPTY, process: { ...EMPTY.process, pid: state.requests } })(request, response)
		})
		return { state, origin }
	}

	test('a pipe gets one text per interval; a server that goes away is said once per interval, and is read again', async () => {
		const { state, origin } = await changing()
		const top = start(['top', origin, '--seconds', '0.2'])
		await eventually(() => expect(top.stdout.text).toContain('process 2 on shop-1'))
		state.isDown = true
		await eventually(() => expect(top.stdout.text).toContain(`Cannot reach ${origin}`))
		const before = state.requests
		state.isDown = false
		await eventually(() => expect(top.stdout.text).toContain(`process ${before + 1} on shop-1`))
		top.interrupt()
		const { code, stdout } = await top.ended
		expect(code).toBe(130)
		expect(stdout).not.toContain('\x1b')
		expect(stdout).toMatch(/It has failed for \d+ m?s, and is tried again every 200 ms\.\n/)
	})

	test('a terminal shows the last figures below the error, and what is new in their place', async () => {
		const { state, origin } = await changing()
		const top = start(['top', origin, '--seconds', '0.2'], { NO_COLOR: '1' }, 100, { isTTY: true })
		const screen = () => screenOf(top.stdout.text)
		await eventually(() => expect(state.requests).toBeGreaterThan(2))
		state.isDown = true
		await eventually(() => expect(screen()[0]).toContain(`Cannot reach ${origin}`))
		expect(screen()[3]).toMatch(/process \d+ on shop-1/)
		state.isDown = false
		await eventually(() => expect(screen()[0]).toMatch(/^http:.*process \d+ on shop-1/))
		expect(screen()).toHaveLength(3)
		top.stdout.columns = 30
		await eventually(() => expect(screen()[0]?.length).toBeLessThan(30))
		top.interrupt()
		expect((await top.ended).code).toBe(130)
		for (const color of [31, 32, 33, 1, 2]) expect(top.stdout.text).not.toContain(`\x1b[${color}m`)
	})

	test('a closed output ends the command with exit code 0', async () => {
		const { origin } = await changing()
		const top = start(['top', origin])
		await eventually(() => expect(top.stdout.text).toContain('process 1'))
		top.closeOutput()
		expect((await top.ended).code).toBe(0)
	})
})
