import { describe, expect, test } from 'vitest'
import type { CheckName } from '../../../../src/cli/outbox/health/health-check.ts'
import { checkQueue } from '../../../../src/cli/outbox/health/queue-checks.ts'
import type { OutboxStats } from '../../../../src/outbox/diagnostics/stats.ts'
import { blocked, counted, destination, NOW, relay, setup } from './setup.ts'

const LIMITS = { lagMs: 1_000, ageMs: 60_000, attempts: 3, failingShare: 0.5, blocked: 2 }

const check = (name: CheckName, parts: Partial<OutboxStats>) =>
	checkQueue(setup(parts), LIMITS, ' -d shop.db').find((one) => one.name === name)

test('all checks of an empty queue pass', () => {
	const checks = checkQueue(setup(), LIMITS, '')
	expect(checks.map(({ name, ok }) => [name, ok])).toEqual(
		['lag', 'age', 'attempts', 'failing', 'blocked'].map((name) => [name, true]),
	)
	for (const { since, action } of checks) expect([since, action]).toEqual([null, null])
})

describe.each([
	['lag', 'oldestLagMs', 1_000],
	['age', 'oldestAgeMs', 60_000],
	['attempts', 'maxAttempts', 3],
] as const)('the check %s', (name, field, limit) => {
	test('passes at the limit', () => {
		expect(check(name, { destinations: [destination('mail', { [field]: limit })] })).toMatchObject({
			ok: true,
		})
	})

	test('fails above the limit, and names the worst destination and the number of the others', () => {
		const failed = check(name, {
			destinations: [
				destination('mail', { [field]: limit + 1 }),
				destination('billing', { [field]: limit * 10 }),
				destination('search', { [field]: 1 }),
			],
		})
		expect(failed?.ok).toBe(false)
		expect(failed?.message).toContain('of billing and 1 more destination ')
		expect(failed?.action).toContain(' -d shop.db')
	})
})

test.each(['lag', 'age'] as const)('the check %s says since when', (name) => {
	const field = name === 'lag' ? 'oldestLagMs' : 'oldestAgeMs'
	const failed = check(name, { destinations: [destination('mail', { [field]: 90_000 })] })
	expect(failed?.since?.getTime()).toBe(NOW - 90_000)
})

describe('the check failing', () => {
	const failing = (count: number, more: object = {}) =>
		destination('mail', { due: counted(count), failing: counted(count), failingShare: 1, ...more })

	test('fails if most messages of a destination failed their latest attempt', () => {
		const failed = check('failing', {
			destinations: [failing(10, { due: counted(12), failingShare: 10 / 12 })],
		})
		expect(failed).toMatchObject({ ok: false })
		expect(failed?.message).toContain('10 of 12 messages of mail failed their latest attempt (83 %)')
	})

	test('passes for fewer than 10 failing messages', () => {
		expect(check('failing', { destinations: [failing(9)] })?.ok).toBe(true)
	})

	test('passes for recent failures that are fewer than the relays of the destination send in a second', () => {
		const destinations = [failing(20, { oldestAgeMs: 5_000 })]
		expect(check('failing', { destinations, relays: [relay(['mail'], { throughput: 20 })] })?.ok).toBe(true)
		expect(check('failing', { destinations, relays: [relay(['*'], { throughput: 19 })] })?.ok).toBe(false)
		expect(check('failing', { destinations, relays: [relay(['search'], { throughput: 99 })] })?.ok).toBe(
			false,
		)
	})

	test('fails for few failures that are old', () => {
		const destinations = [failing(20, { oldestAgeMs: 60_001 })]
		expect(check('failing', { destinations, relays: [relay(['mail'], { throughput: 99 })] })?.ok).toBe(false)
	})

	test('marks counts that stopped at a limit', () => {
		const capped = { due: counted(10_000, true), failing: counted(10_000, true) }
		expect(check('failing', { destinations: [failing(0, capped)] })?.message).toContain(
			'10,000+ of 10,000+ messages',
		)
	})
})

describe('the check blocked', () => {
	test('passes for as many waiting messages as the limit', () => {
		const passed = check('blocked', { destinations: [destination('mail', { blockedByDead: blocked(2) })] })
		expect(passed).toMatchObject({ ok: true, message: '2 messages behind blocked keys' })
	})

	test.each([
		['blockedByDead', 'behind dead letter the-first for 60 s', 'yaoki outbox replay the-first -d shop.db'],
		['blockedByRetry', 'which keeps failing, for 60 s', 'yaoki outbox why the-first -d shop.db'],
	] as const)('fails for %s, with the message that blocks and the command for it', (field, text, command) => {
		const failed = check('blocked', { destinations: [destination('mail', { [field]: blocked(3) })] })
		expect(failed?.ok).toBe(false)
		expect(failed?.message).toContain("3 messages of mail wait behind 1 blocked key: 3 messages of 'order-7'")
		expect(failed?.message).toContain(text)
		expect(failed?.action).toContain(command)
		expect(failed?.since?.getTime()).toBe(NOW - 60_000)
	})

	test('names the larger cause if a dead letter and a failing message block a destination', () => {
		const both = { blockedByDead: blocked(1, 'dead'), blockedByRetry: blocked(5, 'failing') }
		expect(check('blocked', { destinations: [destination('mail', both)] })?.action).toContain('why failing')
	})
})
