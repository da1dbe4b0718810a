/** What reaches logs, event logs and spans of an error with secrets. */
import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as otel from '@opentelemetry/api'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { retry } from 'yaoki'
import { httpDestination, Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import { logger, observe, openTelemetry, type RedactField } from 'yaoki/telemetry'
import { eventLog } from 'yaoki/telemetry/node'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { storingLogger } from '../logs/lines.ts'
import { startSdk } from '../opentelemetry/sdk.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
	for (const end of ends.splice(0).reverse()) await end()
})

/** Returns everything that the three sinks wrote about a call that failed with the message. */
async function written(message: string, redact?: RedactField) {
	const sdk = startSdk()
	ends.push(() => sdk.stop())
	const { lines, target } = storingLogger()
	const path = join(temporaryFolder(), 'events.jsonl')
	const log = eventLog({ path, redact })
	const policy = retry({ maxRetries: 0 })
	const exporters = [logger(target, { redact }), log, openTelemetry(otel, { redact })]
	const stop = observe({ payments: policy }, exporters)
	await policy.settle(() => Promise.reject(new Error(message)))
	stop()
	await log.close()
	const [span] = sdk.spans()
	const spans = JSON.stringify([span?.status, span?.attributes, span?.events])
	return { logs: JSON.stringify(lines), events: readFileSync(path, 'utf8'), spans, path }
}

const spyOnWarnings = () => {
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	ends.push(() => warn.mockRestore())
	return warn
}

describe('logs, event logs and spans', () => {
	test.each([
		'postgres://ann:t0p#s3cret@db/orders',
		'postgres://ann:t0p?s3cret@db/orders',
		'postgres://ann:t0p/s3cret@db/orders',
		'postgres://ann:t0p"s3cret@db/orders',
		'Authorization: Bearer t0ps3cret',
		'host=db password=t0ps3cret',
	])('logs, event logs and spans do not show the secret of "%s"', async (text) => {
		const { logs, events, spans } = await written(`call failed: ${text}`)
		for (const output of [logs, events, spans]) {
			expect(output).toContain('call failed')
			expect(output).not.toMatch(/t0p|s3cret/)
		}
	})

	test('show what `redact` returns', async () => {
		const redact: RedactField = (text) => text.replaceAll('4111 1111', '[card]')
		const { logs, events, spans } = await written('card 4111 1111 declined', redact)
		for (const output of [logs, events, spans]) {
			expect(output).toContain('card [card] declined')
			expect(output).not.toContain('4111')
		}
	})

	test('show [redaction failed] if `redact` throws or returns no text, with one warning for each exporter', async () => {
		const warn = spyOnWarnings()
		const redact = ((text: string, field: string) => {
			if (field === 'errorMessage') throw new Error('a bug')
			return field === 'exception.message' || field === 'exception.stacktrace' ? undefined : text
		}) as RedactField
		const { logs, events, spans } = await written('card 4111 1111 declined', redact)
		for (const output of [logs, events, spans]) {
			expect(output).toContain('[redaction failed]')
			expect(output).not.toContain('4111')
		}
		expect(warn.mock.calls.map(([message]) => String(message).match(/\((\w+)\)/)?.[1]).sort()).toEqual([
			'eventLog',
			'logger',
			'openTelemetry',
		])
	})

	test('logs, event logs and spans do not show the response body that a receiver of messages sent', async () => {
		const server = createServer((_, response) => response.writeHead(422).end('ann@example.com is s3cret'))
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
		ends.push(() => server.close())
		const { port } = server.address() as AddressInfo
		const sdk = startSdk()
		ends.push(() => sdk.stop())
		const path = join(temporaryFolder(), 'events.jsonl')
		const { lines, target } = storingLogger()
		const log = eventLog({ path })
		const outbox = new Outbox({
			store: sqliteOutboxStore(join(temporaryFolder(), 'shop.db')),
			outsideTransaction: 'allow',
		})
		await outbox.migrate()
		const url = `http://127.0.0.1:${port}/orders`
		const relay = new Relay(outbox, { destinations: { order: httpDestination({ url }) } })
		const stop = observe({ relay }, [logger(target), log, openTelemetry(otel)])
		await outbox.enqueue({ topic: 'order', payload: {} })
		await relay.start()
		await eventually(() => expect(lines).toContainEqual(expect.objectContaining({ level: 'error' })))
		await relay.stop()
		stop()
		await log.close()
		const dead = await outbox.dead.groups()
		await outbox.close()
		const spans = JSON.stringify(
			sdk.spans().map(({ status, attributes, events }) => [status, attributes, events]),
		)
		for (const output of [JSON.stringify(lines), readFileSync(path, 'utf8'), spans]) {
			expect(output).toContain('422')
			expect(output).not.toContain('s3cret')
		}
		expect(JSON.stringify(dead)).toContain('s3cret')
	})
})

test('the files of an event log can be read by their owner only', async () => {
	const { path } = await written('x')
	expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
})
