import { expect, test } from 'vitest'
import { permanent } from 'yaoki'
import { Outbox, type OutboxOptions, Relay, redactFields, sqliteOutboxStore } from 'yaoki/outbox'
import { virtualRuntime } from 'yaoki/testing'

const PAYLOAD = { order: 17, customer: { Email: 'ada@example.com', tags: ['a'] }, iban: ['DE12 3456'] }
const HEADERS = { authorization: 'Bearer abc', 'x-team': 'shop' }

/** An outbox with redaction, the same without, and a dead letter whose error quotes the payload. */
async function outboxes(options: Partial<OutboxOptions>) {
	const clock = virtualRuntime()
	const store = sqliteOutboxStore({ file: ':memory:', clock: () => clock.wallNow(), runtime: clock })
	const base = { store, outsideTransaction: 'allow', runtime: clock } as const
	const [raw, shown] = [new Outbox(base), new Outbox({ ...base, ...options })]
	await raw.migrate()
	const { id } = await raw.enqueue({ topic: 'mail', key: 'k', payload: PAYLOAD, headers: HEADERS })
	const sent: unknown[] = []
	const relay = new Relay(shown, {
		runtime: clock,
		destinations: {
			mail: ({ payload, headers }) => {
				sent.push({ payload, headers })
				throw permanent(new Error('invalid: ada@example.com, "DE12 3456", order 17'))
			},
		},
	})
	await relay.start()
	await clock.advance(1_000)
	const stopped = relay.stop()
	await clock.advance(1_000)
	await stopped
	return { raw, shown, id, sent, [Symbol.asyncDispose]: () => raw.close() }
}

const redact = redactFields(['email', 'IBAN', 'Authorization'])

const REDACTED_PAYLOAD = {
	order: 17,
	customer: { Email: '[redacted]', tags: ['a'] },
	iban: '[redacted]',
}
const REDACTED_HEADERS = { authorization: '[redacted]', 'x-team': 'shop' }
const REDACTED_ERROR = 'invalid: [redacted], "[redacted]", order 17'

test('find, list and the dead letters show redacted payloads, headers and errors', async () => {
	await using here = await outboxes({ redact })
	const expected = {
		payload: REDACTED_PAYLOAD,
		headers: REDACTED_HEADERS,
		lastError: { type: 'Error', message: REDACTED_ERROR },
	}
	expect(await here.shown.find(here.id)).toMatchObject(expected)
	expect(await here.shown.list()).toMatchObject([expected])
	expect(await here.shown.dead.list()).toMatchObject([expected])
	for await (const letter of here.shown.dead.each()) expect(letter).toMatchObject(expected)
	expect(await here.shown.dead.groups()).toMatchObject([{ count: 1, errorMessage: REDACTED_ERROR }])
})

test('why shows redacted errors, also of the message that blocks a key', async () => {
	await using here = await outboxes({ redact })
	expect(await here.shown.why(here.id)).toContain(REDACTED_ERROR)
	expect(await here.shown.why(here.id)).not.toMatch(/ada@|DE12/)
})

test('the audit shows redacted originals and changes', async () => {
	await using here = await outboxes({ redact })
	const payload = { email: 'bob@example.com', order: 18 }
	await here.shown.dead.edit(here.id, { payload, headers: { Authorization: 'new' }, maxRetries: 1 })
	expect(await here.shown.audit()).toMatchObject([
		{
			payload: REDACTED_PAYLOAD,
			headers: REDACTED_HEADERS,
			changes: {
				payload: { email: '[redacted]', order: 18 },
				headers: { Authorization: '[redacted]' },
				maxRetries: 1,
			},
		},
	])
	await here.shown.pause('mail', { forMs: 1_000 })
	expect(await here.shown.audit({ action: 'pause' })).toMatchObject([{ changes: { forMs: 1_000 } }])
})

test('redaction changes neither what is stored nor what is sent', async () => {
	await using here = await outboxes({ redact })
	expect(here.sent).toEqual([{ payload: PAYLOAD, headers: HEADERS }])
	await here.shown.dead.list()
	const stored = { payload: PAYLOAD, headers: HEADERS }
	expect(await here.raw.find(here.id)).toMatchObject(stored)
	await here.shown.dead.replay({ ids: [here.id] })
	expect(await here.raw.find(here.id)).toMatchObject(stored)
	expect(await here.raw.audit()).toMatchObject([stored])
})

test('a redacted payload that is written back is rejected', async () => {
	await using here = await outboxes({ redact })
	const letter = await here.shown.find(here.id)
	const edit = here.raw.dead.edit(here.id, { payload: letter?.payload })
	await expect(edit).rejects.toMatchObject({ argument: 'changes.payload' })
	expect(await here.raw.find(here.id)).toMatchObject({ status: 'dead', payload: PAYLOAD })
})

test('a function decides by topic and destination what is shown', async () => {
	await using here = await outboxes({
		redact: ({ topic, destination, errorMessage }) => ({
			payload: `${topic} to ${destination}`,
			headers: {},
			errorMessage: errorMessage && 'hidden',
		}),
	})
	expect(await here.shown.find(here.id)).toMatchObject({
		payload: 'mail to mail',
		headers: {},
		lastError: { message: 'hidden' },
	})
})

test.each<[string, NonNullable<OutboxOptions['redact']>]>([
	[
		'throws',
		() => {
			throw new Error('ada@example.com')
		},
	],
	// @ts-expect-error nothing is returned
	['returns nothing', () => undefined],
	['returns a payload that is not JSON', (message) => ({ ...message, payload: 1n })],
])('if the function %s, nothing is shown', async (_, broken) => {
	await using here = await outboxes({ redact: broken })
	const text = JSON.stringify([
		await here.shown.find(here.id),
		await here.shown.dead.groups(),
		await here.shown.why(here.id),
	])
	expect(text).toContain('[redaction failed]')
	expect(text).not.toMatch(/ada@|DE12|Bearer/)
})

test('a value that a truncated error cuts off is redacted too, short values stay', () => {
	const shown = redactFields(['token', 'n'])({
		topic: 't',
		destination: 'd',
		headers: {},
		payload: { token: 'abc"def\nghi', n: 7, list: [{ token: null }] },
		errorMessage: '7 x 7, {"token":"abc\\"def\\nghi"} and abc"d',
	})
	expect(shown.payload).toEqual({ token: '[redacted]', n: '[redacted]', list: [{ token: '[redacted]' }] })
	expect(shown.errorMessage).toBe('7 x 7, {"token":"[redacted]"} and [redacted]')
})

test('rejects a redact option that is not a function', () => {
	const store = sqliteOutboxStore(':memory:')
	// @ts-expect-error not a function
	expect(() => new Outbox({ store, redact: ['email'] })).toThrow(
		expect.objectContaining({ optionPath: 'redact' }),
	)
})
