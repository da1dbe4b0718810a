import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readHeaders } from '../../../src/cli/relay/options.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { enqueue } from '../outbox/fixtures.ts'
import { run, start } from '../outbox/run-yaoki.ts'
import { testOutbox } from '../outbox/test-outbox.ts'

const env = testOutbox()

const fileWith = (text: string, mode = 0o600): string => {
	const file = join(temporaryFolder(), 'headers')
	writeFileSync(file, text)
	chmodSync(file, mode)
	return file
}

/** Returns the URL of a server, and the headers and paths of its requests. */
async function receiver(status: number) {
	const requests: { readonly path: string | undefined; readonly headers: IncomingHttpHeaders }[] = []
	const server = createServer((request, response) => {
		requests.push({ path: request.url, headers: request.headers })
		response.statusCode = status
		request.resume().on('end', () => response.end())
	})
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	onTestFinished(() => void server.close())
	return { requests, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

test.each([200, 500])(
	'URL and headers come from the environment and a file, and are not printed, status %i',
	async (status) => {
		const { requests, origin } = await receiver(status)
		await enqueue(env.outbox, 'billing')
		const file = fileWith('# headers\nAuthorization: Bearer hunter2-file\n\nX-One: 1\n')
		const relay = start(['relay', '--header-file', file, '-H', 'X-Two: 2', '--database', env.file], {
			YAOKI_TO: `${origin}/hooks/hunter2-path?token=hunter2-query`,
			YAOKI_HEADERS: 'X-Key: hunter2-variable\nX-Two: overridden',
		})
		await expect.poll(() => requests.length, { timeout: 20_000 }).toBeGreaterThan(0)
		await expect.poll(async () => (await env.outbox.list({ status: 'processing' })).length).toBe(0)
		relay.interrupt()
		const { code, stdout, stderr } = await relay.ended
		expect(code).toBe(130)
		expect(stdout + stderr).not.toContain('hunter2')
		expect(stderr).toContain(`to ${origin}.`)
		expect(requests[0]?.path).toBe('/hooks/hunter2-path?token=hunter2-query')
		expect(requests[0]?.headers).toMatchObject({
			authorization: 'Bearer hunter2-file',
			'x-one': '1',
			'x-two': '2',
			'x-key': 'hunter2-variable',
		})
	},
	30_000,
)

describe('--header-file', () => {
	const read = (text: string, mode?: number) => {
		const warnings: string[] = []
		const args = { header: [], headerFile: fileWith(text, mode) }
		const headers = readHeaders(args, { env: {}, warn: (warning) => warnings.push(warning) })
		return { headers, warnings }
	}

	test('reads a header per line and ignores comments and empty lines', () => {
		expect(read('a: 1\r\n\n # b: 2\nc:3')).toEqual({ headers: { a: '1', c: '3' }, warnings: [] })
	})

	test('warns if other users can read the file', () => {
		expect(read('a: 1', 0o640).warnings).toEqual([expect.stringContaining('mode 640')])
	})

	test('an invalid line is reported by its number, without its value', () => {
		expect(() => read('a: 1\nhunter2')).toThrow(/, line 2 must have the form 'name: value'\.$/)
		expect(() => read('a: 1\nhunter2')).not.toThrow(/hunter2/)
	})

	test('a missing file ends with exit code 3', async () => {
		const args = ['relay', '--to', 'http://127.0.0.1:1', '--header-file', 'none', '-d', env.file]
		expect(await run(args)).toMatchObject({ code: 3 })
	})
})
