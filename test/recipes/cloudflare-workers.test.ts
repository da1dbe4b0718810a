import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { COMPATIBILITY_DATE, portOf, WORKERD } from '../../scripts/runtimes/workerd.ts'
import { guard } from '../guard/guard.ts'
import type { FaultServer } from '../http/faults/fault-server.ts'
import { reset } from '../http/faults/steps.ts'
import { bundle } from './support/bundle.ts'
import { CODE } from './support/recipes.ts'
import { BUSY, headersOf, json, startServer } from './support/services.ts'

/** Starts the Worker in workerd. Returns its URL. */
async function startWorker(api: FaultServer, audit: FaultServer): Promise<string> {
	const worker = basename(await bundle('cloudflare-workers/worker.ts'))
	const config = join(CODE, 'cloudflare-workers', 'worker.capnp')
	writeFileSync(
		config,
		`using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
	services = [
		(name = "main", worker = (
			compatibilityDate = "${COMPATIBILITY_DATE}",
			modules = [(name = "worker.js", esModule = embed "${worker}")],
			bindings = [(name = "API_URL", text = "${api.origin}"), (name = "AUDIT_URL", text = "${audit.origin}")],
		)),
		(name = "internet", network = (allow = ["local"])),
	],
	sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`,
	)
	// The third stream reports the port.
	const child = spawn(WORKERD, ['serve', '--control-fd=3', config], {
		stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
	})
	guard(child)
	onTestFinished(() => void child.kill('SIGKILL'))
	return `http://127.0.0.1:${await portOf(child)}`
}

// Its binary does not exist for every system. CI has it.
const isThere = existsSync(WORKERD) || Boolean(process.env['CI'])

test.runIf(isThere)(
	'a request gets its response after failures, and the audit is retried after it',
	async () => {
		const api = await startServer([BUSY, reset('request-head'), json({ name: 'Ada' })])
		const audit = await startServer([json({}, 500), reset('request-head'), json({})])
		const url = await startWorker(api, audit)
		const response = await fetch(`${url}/users/7`)
		expect([response.status, await response.json()]).toEqual([200, { name: 'Ada' }])
		expect(api.requests.map(({ path }) => path)).toEqual(['/users/7', '/users/7', '/users/7'])
		await audit.done(3)
		expect(audit.requests.map(({ body }) => body)).toEqual(['/users/7', '/users/7', '/users/7'])
		const keys = headersOf(audit, 'idempotency-key')
		expect(keys[0]).toEqual(expect.any(String))
		expect(new Set(keys).size).toBe(1)
	},
)

test.runIf(isThere)('all requests of the isolate share a circuit', async () => {
	const api = await startServer(json({ error: 'down' }, 500, { 'x-should-retry': 'false' }))
	const url = await startWorker(api, await startServer(json({})))
	const statusOf = async () => (await fetch(`${url}/users/7`)).status
	const statuses: number[] = []
	for (let request = 0; request < 10; request++) statuses.push(await statusOf())
	expect(statuses[0]).toBe(500)
	expect(statuses.at(-1)).toBe(503)
	const sent = api.requests.length
	expect(await statusOf()).toBe(503)
	expect(api.requests).toHaveLength(sent)
})
