import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../../scripts/tools.ts'
import { guard } from '../guard/guard.ts'
import { hang, reset } from '../http/faults/steps.ts'
import { CODE, recipes } from './support/recipes.ts'
import { BUSY, json, startServer } from './support/services.ts'

const NEXT = createRequire(import.meta.url).resolve('next/dist/bin/next')

/** Next compiles for minutes on a slow machine. */
const LIMIT = { timeout: 600_000 }

/** Writes the files of the recipe as an application of its own. Returns its folder. */
function createApplication(name: string): string {
	const folder = join(CODE, name)
	for (const { path, code } of recipes().find((recipe) => recipe.name === 'nextjs-route')?.files ?? []) {
		// recipes.test.ts checks the types. For an application in TypeScript, Next would install packages.
		const file = join(folder, path.replace(/\.ts$/, '.js'))
		mkdirSync(dirname(file), { recursive: true })
		writeFileSync(file, stripTypeScriptTypes(code))
	}
	const config = { turbopack: { root: ROOT } }
	writeFileSync(join(folder, 'next.config.mjs'), `export default ${JSON.stringify(config)}\n`)
	return folder
}

function next(folder: string, apiUrl: string, ...args: readonly string[]): ChildProcess {
	const { NODE_ENV: _, ...env } = process.env
	const child = spawn(process.execPath, [NEXT, ...args], {
		cwd: folder,
		env: { ...env, API_URL: apiUrl, NEXT_TELEMETRY_DISABLED: '1', NO_COLOR: '1' },
		stdio: ['ignore', 'pipe', 'inherit'],
		// A group of its own, to end its workers too.
		detached: true,
	})
	guard(child, { isGroup: true })
	onTestFinished(() => {
		if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
	})
	return child
}

/** Waits for the end of a command. */
async function ended(child: ChildProcess): Promise<void> {
	let log = ''
	child.stdout?.on('data', (data) => {
		log += data
	})
	const [code] = await once(child, 'close')
	if (code !== 0) throw new Error(`next ended with ${code}:\n${log}`)
}

/** Starts a server of Next, and returns its URL. */
async function started(folder: string, apiUrl: string, command: 'start' | 'dev'): Promise<string> {
	const { stdout } = next(folder, apiUrl, command, '--port', '0', '--hostname', '127.0.0.1')
	if (stdout === null) throw new Error('it has no output')
	const log: string[] = []
	let url: string | undefined
	for await (const line of createInterface({ input: stdout })) {
		log.push(line)
		url ??= /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0]
		if (url === undefined || !line.includes('Ready')) continue
		stdout.resume()
		return url
	}
	throw new Error(`next ${command} ended:\n${log.join('\n')}`)
}

test(
	'a route of a production build responds after failures, and the client leaves no request behind',
	LIMIT,
	async () => {
		const api = await startServer([BUSY, reset('request-head'), json({ name: 'Ada' })])
		const folder = createApplication('next-production')
		await ended(next(folder, api.origin, 'build'))
		const url = `${await started(folder, api.origin, 'start')}/users/7`

		const response = await fetch(url)
		expect([response.status, await response.json()]).toEqual([200, { name: 'Ada' }])
		expect(api.requests.map(({ path }) => path)).toEqual(['/users/7', '/users/7', '/users/7'])

		api.play(json({}, 404))
		expect((await fetch(url)).status).toBe(404)
		expect(api.requests).toHaveLength(4)

		// The user leaves.
		api.play(hang())
		const controller = new AbortController()
		const left = fetch(url, { signal: controller.signal }).catch(() => 'left')
		await api.requested(5)
		controller.abort()
		expect(await left).toBe('left')
		await api.aborted(5)
		api.play(json({ name: 'Ada' }))
		expect((await fetch(url)).status).toBe(200)
		expect(api.requests).toHaveLength(6)

		api.play(json({}, 500, { 'x-should-retry': 'false' }))
		for (let request = 0; request < 10; request++) expect((await fetch(url)).status).toBe(503)
		// The circuit has opened.
		expect(api.requests.length).toBeLessThan(16)
	},
)

test('a reload in development keeps the client', LIMIT, async () => {
	const api = await startServer([BUSY, json({ name: 'Ada' })])
	const folder = createApplication('next-development')
	const [lib, route] = [join(folder, 'lib/api.js'), join(folder, 'app/users/[id]/route.js')]
	const count = 'globalThis.evaluations = (globalThis.evaluations ?? 0) + 1\n'
	writeFileSync(lib, count + readFileSync(lib, 'utf8'))
	const url = `${await started(folder, api.origin, 'dev')}/users/7`
	expect((await fetch(url)).status).toBe(200)
	expect(api.requests).toHaveLength(2)

	writeFileSync(lib, `${readFileSync(lib, 'utf8')}\nexport const edited = true\n`)
	const report = `import { api, edited } from '../../../lib/api'
export const GET = () => Response.json({ edited, evaluations: globalThis.evaluations, requests: api.stats.requests })
`
	writeFileSync(route, report)
	let body: Record<string, unknown> = {}
	// Until the reload, the old route responds, or none.
	while (!body['edited']) body = await (await fetch(url)).json().catch(() => ({}))
	expect(body['evaluations']).toBeGreaterThan(1)
	expect(body['requests']).toBeGreaterThan(0)
})
