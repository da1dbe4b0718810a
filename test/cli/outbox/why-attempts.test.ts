import { expect, test } from 'vitest'
import { TimeoutError } from 'yaoki'
import type { NewAttempt } from '../../../src/outbox/store/rows.ts'
import { blocks, page } from '../../examples/markdown.ts'
import { beat, claim, enqueue } from './fixtures.ts'
import { testOutbox, UNKNOWN_ID } from './test-outbox.ts'

const env = testOutbox()

const STARTED = Date.UTC(2030, 0, 1)

/** Fails the only message of billing as given, with a record of the attempt. Its next attempt is due in `inMs`. */
async function attempt(part: Partial<NewAttempt>, type: 'retry' | 'sent' = 'retry', inMs = 0): Promise<void> {
	const [row] = await claim(env.outbox.store, 'billing')
	const { id = '', attempt: number = 0 } = row ?? {}
	const log: NewAttempt = {
		messageId: id,
		destination: 'billing',
		attempt: number,
		relay: 'some-relay',
		startedAt: STARTED + number,
		durationMs: 1_234,
		outcome: type,
		statusCode: null,
		errorType: null,
		errorMessage: null,
		response: null,
		keepForMs: 3_600_000,
		...part,
	}
	const { errorType, errorMessage } = part
	const error = { type: errorType ?? 'Error', message: errorMessage ?? 'not now', fingerprint: 'f' }
	const ref = { id, attempt: number, log }
	const settlement = type === 'sent' ? { ...ref, type } : { ...ref, type, inMs, delayMs: 0, error }
	await env.outbox.store.settle('some-relay', [settlement], false)
}

test('why prints the attempts below the reason, with status, error and the start of the response', async () => {
	const [id = ''] = await enqueue(env.outbox, 'billing', 1)
	await attempt({ statusCode: 503, errorType: 'HttpError', errorMessage: 'HTTP 503', response: 'busy\nnow' })
	await attempt({ outcome: 'timed-out', errorType: 'TimeoutError', errorMessage: 'timed out' })
	const { code, stdout } = await env.cli(`why ${id}`)
	expect(code).toBe(0)
	const [, ...table] = stdout.split('\n\n')
	expect(table.join('\n\n')).toBe(
		[
			'attempt  started                   duration  outcome    status',
			'1        2030-01-01T00:00:00.001Z  1,234 ms  retry      503',
			'    HttpError: HTTP 503',
			'    response: busy now',
			'2        2030-01-01T00:00:00.002Z  1,234 ms  timed-out  -',
			'    TimeoutError: timed out',
			'',
		].join('\n'),
	)
})

test('why prints what the guide shows', async () => {
	const guide = page('docs/guide/attempt-log.md')
	const shown = blocks(guide).find(({ code }) => code.startsWith('Next attempt in '))?.code
	const [id = ''] = await enqueue(env.outbox, 'billing', 1)
	await beat(env.outbox.store)
	await attempt({
		startedAt: Date.UTC(2026, 10, 18, 13, 12, 4, 517),
		durationMs: 31,
		statusCode: 503,
		errorType: 'HttpError',
		errorMessage: 'HTTP 503 for POST https://billing.example.com/orders',
		response: '{"error":"maintenance"}',
	})
	const timeout = new TimeoutError('billing', 30_000)
	await attempt(
		{
			startedAt: Date.UTC(2026, 10, 18, 13, 12, 6, 204),
			durationMs: timeout.timeoutMs,
			outcome: 'timed-out',
			errorType: timeout.name,
			errorMessage: timeout.message,
		},
		'retry',
		60_000,
	)
	const { stdout } = await env.cli(`why ${id}`)
	expect(stdout.replace(/ in \d+ s/, ' in 7 s')).toBe(shown)
})

test('why shortens a response, and --json prints all of it', async () => {
	const [id = ''] = await enqueue(env.outbox, 'billing', 1)
	const response = 'x'.repeat(1_000)
	await attempt({ response })
	expect((await env.cli(`why ${id}`)).stdout).toContain(`response: ${'x'.repeat(200)}...\n`)
	expect((await env.json(`why ${id}`)).data).toMatchObject({
		id,
		why: expect.any(String),
		attempts: [{ attempt: 1, startedAt: '2030-01-01T00:00:00.001Z', outcome: 'retry', response }],
	})
})

test('why shows the attempts of a sent message that is no longer stored', async () => {
	const [id = ''] = await enqueue(env.outbox, 'billing', 1)
	await attempt({ statusCode: 204 }, 'sent')
	expect(await env.outbox.find(id)).toBeUndefined()
	const { code, stdout } = await env.cli(`why ${id.toUpperCase()}`)
	expect(code).toBe(0)
	expect(stdout).toMatch(
		/^Sent .* ago on attempt 1\. The message is not in the history\.\n\nattempt .*\n1 .* sent +204\n$/s,
	)
})

test('why without a log prints only the reason, and exits with 3 for an unknown id', async () => {
	const [id = ''] = await enqueue(env.outbox, 'billing', 1)
	expect((await env.cli(`why ${id}`)).stdout.trim().split('\n')).toHaveLength(1)
	expect(await env.cli(`why ${UNKNOWN_ID}`)).toMatchObject({ code: 3, stdout: '' })
	expect(await env.cli('why x')).toMatchObject({ code: 3, stdout: '' })
})

test('why prints no character of an attempt that a terminal acts on, and hides redacted fields', async () => {
	const hostile = 'a\u001b[2Jb\u202ec\r\nok'
	const message = { topic: 'billing', payload: { email: 'ada@example.com' } }
	const { id } = await env.outbox.enqueue(message, { withoutTransaction: true })
	await attempt({ errorType: hostile, errorMessage: hostile, response: `${hostile} ada@example.com` })
	const { stdout } = await env.cli(`why ${id} --redact email`)
	expect(stdout).not.toMatch(/[^\n\P{Cc}]|\u202E/u)
	expect(stdout).toContain('[redacted]')
	expect(stdout).not.toContain('ada@example.com')
	expect((await env.json(`why ${id} --redact email`)).data).toMatchObject({
		attempts: [{ response: `${hostile} [redacted]` }],
	})
})
