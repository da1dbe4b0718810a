/** A process that has called a receiver exits by itself, although the receiver keeps the connection open. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { guard } from '../../../guard/guard.ts'
import { answer, startFaultServer } from '../../../http/faults/fault-server.ts'
import { portOf } from './setup.ts'

const source = fileURLToPath(
	new URL('../../../../src/outbox/webhooks/transport/guarded-client.ts', import.meta.url),
)

const PROGRAM = `
	import { subscribe } from 'node:diagnostics_channel'
	import { createGuardedClient } from ${JSON.stringify(source)}
	const sockets = []
	subscribe('net.client.socket', ({ socket }) => sockets.push(socket))
	const [, port, url] = process.argv
	const client = createGuardedClient({ ports: [Number(port)], allowHttp: true, allow: ['127.0.0.1'] })
	const signal = new AbortController().signal
	const { status } = await client.send({ url, headers: {}, body: new Uint8Array(3), signal })
	process.on('exit', () => console.log(status, sockets.length, sockets.filter(({ destroyed }) => !destroyed).length))
`

test.each([
	{},
	{ NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'http://127.0.0.1:1' },
])('exits with the environment %o', async (env) => {
	await using server = await startFaultServer(answer({ body: 'ok' }))
	const child = guard(
		spawn(
			process.execPath,
			['--input-type=module', '--eval', PROGRAM, String(portOf(server)), server.url()],
			{
				stdio: ['ignore', 'pipe', 'inherit'],
				env: { ...process.env, ...env },
			},
		),
	)
	let output = ''
	child.stdout?.on('data', (data) => {
		output += data
	})
	expect(await once(child, 'exit')).toEqual([0, null])
	expect(output).toMatch(/^200 /)
})
