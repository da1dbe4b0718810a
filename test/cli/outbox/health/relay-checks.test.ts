import { describe, expect, test } from 'vitest'
import { checkClock, checkPaused, checkRelays } from '../../../../src/cli/outbox/health/relay-checks.ts'
import { circuit, counted, destination, NOW, relay, setup } from './setup.ts'

const PENDING = [destination('billing', { due: counted(2), oldestAgeMs: 30_000 })]

describe('checkRelays', () => {
	test('requires no relay without messages, and one relay with messages', () => {
		expect(checkRelays(setup(), undefined)).toMatchObject({ ok: true, message: '0 running relays' })
		expect(checkRelays(setup({ destinations: PENDING }), undefined)).toMatchObject({
			ok: false,
			message: '0 running relays, 1 required: 2 messages pending, the oldest for 30 s',
			since: new Date(NOW - 30_000),
		})
	})

	test('fails for fewer relays than minRelays, also without messages', () => {
		const stats = setup({ relays: [relay(['*'])] })
		expect(checkRelays(stats, 1).ok).toBe(true)
		expect(checkRelays(stats, 2)).toMatchObject({
			ok: false,
			message: '1 running relay, 2 required: 0 messages pending',
		})
	})

	test('fails if no relay serves a destination with messages, unless minRelays is 0', () => {
		const stats = setup({ destinations: PENDING, relays: [relay(['mail'])] })
		expect(checkRelays(stats, undefined)).toMatchObject({
			ok: false,
			message: '1 running relay, none for the messages of billing',
		})
		expect(checkRelays(stats, 0).ok).toBe(true)
		expect(checkRelays(setup({ destinations: PENDING, relays: [relay(['*'])] }), undefined).ok).toBe(true)
	})

	test('says when the latest of the ended relays was seen', () => {
		const endedRelays = [60_000, 5_000].map((ago) => relay(['*'], { seenAt: new Date(NOW - ago) }))
		const failed = checkRelays(setup({ destinations: PENDING, endedRelays }), undefined)
		expect(failed.message).toContain(', 2 relays ended without stopping 5 s ago')
		expect(failed.since).toEqual(new Date(NOW - 5_000))
	})
})

describe('checkPaused', () => {
	test('passes if all circuits are closed and no destination is paused', () => {
		expect(checkPaused(setup({ circuits: [circuit('mail')] }), '').ok).toBe(true)
	})

	test('fails for an open circuit, which closes by itself', () => {
		const circuits = [circuit('mail', { state: 'open', pausedForMs: 5_000 })]
		const destinations = [destination('mail', { oldestAgeMs: 30_000 })]
		expect(checkPaused(setup({ circuits, destinations }), '')).toMatchObject({
			ok: false,
			message: 'paused: mail (circuit open for 5 s), the oldest message waits for 30 s',
			since: new Date(NOW - 30_000),
			action: 'fix the destination; relays then resume by themselves',
		})
	})

	test('names the operator of a pause, the reason, and the command that ends it', () => {
		const operatorPause = {
			by: 'ada',
			reason: 'migration',
			pausedAt: new Date(NOW - 1_000),
			pausedForMs: Infinity,
		}
		const circuits = [circuit('mail', { pausedForMs: Infinity, reason: 'operator', operatorPause })]
		expect(checkPaused(setup({ circuits }), ' -d shop.db')).toMatchObject({
			ok: false,
			message: 'paused: mail (by ada: migration until resumed)',
			since: new Date(NOW - 1_000),
			action: 'resume it when it is ready: yaoki outbox resume mail -d shop.db',
		})
	})

	test('says if a circuit is open for a reason that does not end by itself', () => {
		const circuits = [circuit('mail', { state: 'half-open', reason: 'credentials' })]
		expect(checkPaused(setup({ circuits }), '').message).toMatch(
			/mail \(circuit half-open .+, ready for a probe\)/,
		)
	})

	test('lists at most five destinations', () => {
		const circuits = Array.from({ length: 8 }, (_, index) => circuit(`d${index}`, { state: 'open' }))
		expect(checkPaused(setup({ circuits }), '').message).toMatch(/d4 \(.*\) and 3 more/)
	})
})

describe('checkClock', () => {
	test('passes for a time between the two readings of the own clock', () => {
		expect(checkClock(setup(), NOW - 10, NOW + 10, 0)).toMatchObject({ ok: true })
	})

	test.each([
		['ahead', NOW - 6_000],
		['behind', NOW + 6_000],
	])('fails if the database is %s by more than the limit', (_, own) => {
		expect(checkClock(setup(), own, own, 6_000).ok).toBe(true)
		const failed = checkClock(setup(), own, own, 5_000)
		expect(failed).toMatchObject({ ok: false, since: null })
		expect(failed.message).toContain('differ by 6 s')
	})

	test('fails if the clock of the database was set back, although both clocks agree', () => {
		const failed = checkClock(setup({ clockBehindMs: 3_600_000 }), NOW, NOW, 5_000)
		expect(failed.ok).toBe(false)
		expect(failed.message).toContain('was set back: it is 60 min behind')
		expect(failed.message).toContain('are not sent until it reaches their time')
	})
})
