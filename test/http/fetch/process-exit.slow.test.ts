/** Processes that exit by themselves after a response, however it was read. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { guard } from '../../guard/guard.ts'
import { answer } from '../faults/fault-server.ts'
import { BUSY, SENDERS } from './setup.ts'

const entry = fileURLToPath(new URL('../../../src/http/index.ts', import.meta.url))

/** A leaked timer would keep the process alive for ten minutes. */
const program = (isFetch: boolean, how: string) => `
	import { ResilientHttpClient, resilientFetch } from ${JSON.stringify(entry)}
	const options = { timeout: 600_000, baseDelayMs: 1 }
	const client = new ResilientHttpClient(options)
	const fetch = ${isFetch ? 'resilientFetch(options)' : '(url) => client.get(url)'}
	const response = await fetch(process.argv[1])
	${how}
`

describe.each(SENDERS)('a process that uses $name', ({ isFetch, setup }) => {
	test.each([
		['has looked at the status', 'response.status'],
		['has read the body', 'await response.text()'],
		['has taken the stream', 'for await (const chunk of response.body) chunk'],
		['has cancelled the stream', 'await response.body.cancel()'],
	])('can exit once it %s', async (_, how) => {
		const { url } = await setup([
			BUSY,
			answer({ body: 'x'.repeat(100_000), headers: { connection: 'close' } }),
		])
		const child = spawn(process.execPath, ['--input-type=module', '--eval', program(isFetch, how), url], {
			stdio: ['ignore', 'inherit', 'inherit'],
		})
		expect(await once(guard(child), 'exit')).toEqual([0, null])
	})
})
