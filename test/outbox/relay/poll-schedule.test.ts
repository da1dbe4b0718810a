import { expect, test } from 'vitest'
import { longestLag, PollSchedule } from '../../../src/outbox/relay/poll-schedule.ts'

/** Polls until `endsAt`; each finds the messages that became due since the previous one. Returns the delays, and the number of polls. */
function simulate(schedule: PollSchedule, dueAt: readonly number[], endsAt: number) {
	const delays: number[] = []
	let polls = 0
	let found = 0
	for (let now = 0; now < endsAt; now = schedule.nextAt) {
		polls++
		let lagMs: number | undefined
		for (; found < dueAt.length && (dueAt[found] ?? 0) <= now; found++) {
			const delayMs = now - (dueAt[found] ?? 0)
			delays.push(delayMs)
			lagMs = Math.max(lagMs ?? 0, delayMs)
		}
		schedule.recordPoll(now, lagMs)
	}
	return { polls, delays: delays.sort((a, b) => a - b) }
}

const every = (ms: number, endsAt: number) =>
	Array.from({ length: Math.floor(endsAt / ms) }, (_, at) => (at + 0.37) * ms)

test('an idle schedule polls once per pollMs after a few short intervals', () => {
	const schedule = new PollSchedule(1_000)
	expect(simulate(schedule, [], 10_000).polls).toBeLessThanOrEqual(22)
	expect(simulate(schedule, [], 60_000).polls).toBe(60)
})

test.each([10, 100, 333, 1_000])(
	'messages every %i ms without notifications have a median delay below 150 ms, with at most 20 polls per second',
	(ms) => {
		const { polls, delays } = simulate(new PollSchedule(1_000), every(ms, 60_000), 60_000)
		expect(delays.length).toBeGreaterThanOrEqual(59)
		expect(delays[delays.length >> 1]).toBeLessThan(150)
		expect(polls).toBeLessThanOrEqual(20 * 60)
	},
)

test('polls that find only fresh messages become rare: notifications arrive', () => {
	const schedule = new PollSchedule(1_000)
	for (let at = 0; at < 20; at++) schedule.recordPoll(0, 5)
	expect(schedule.nextAt).toBe(1_000)
})

test('a message that was due for a while makes the interval short', () => {
	const schedule = new PollSchedule(1_000)
	for (let at = 0; at < 20; at++) schedule.recordPoll(0, undefined)
	schedule.recordPoll(5_000, 700)
	expect(schedule.nextAt).toBe(5_050)
})

test('a scan between two polls postpones the next poll without changing the interval', () => {
	const schedule = new PollSchedule(1_000)
	for (let at = 0; at < 20; at++) schedule.recordPoll(0, undefined)
	schedule.recordScan(600)
	expect(schedule.nextAt).toBe(1_600)
})

test('intervals are never longer than pollMs', () => {
	const schedule = new PollSchedule(20)
	schedule.recordScan(0)
	expect(schedule.nextAt).toBe(20)
	schedule.recordPoll(20, 100)
	expect(schedule.nextAt).toBe(40)
})

test('messages that had to wait for their key do not count as late (regression: a long queue of one key made the relay scan it without pause)', () => {
	const target = { limit: 10, since: 0, isOrdered: true, isProbe: false }
	const row = (destination: string, key: string | null, attempt: number, dueAt: number) => ({
		id: '',
		sequence: 0,
		destination,
		topic: '',
		key,
		payload: '',
		headers: null,
		attempt,
		claimedAt: 0,
		maxRetries: null,
		delayMs: null,
		crashes: 0,
		createdAt: 0,
		dueAt,
		expiresAt: null,
	})
	const lagOf = (...rows: ReturnType<typeof row>[]) =>
		longestLag({ now: 1_000, rows, circuits: [] }, [
			{ ...target, destination: 'a', keys: ['hot'] },
			{ ...target, destination: 'a' },
			{ ...target, destination: 'b' },
		])
	expect(lagOf(row('a', 'hot', 1, 0))).toBeUndefined()
	expect(lagOf(row('a', 'hot', 1, 0), row('a', 'other', 1, 900), row('a', null, 1, 800))).toBe(200)
	expect(lagOf(row('b', 'hot', 1, 700))).toBe(300)
	expect(lagOf(row('b', 'hot', 2, 0))).toBeUndefined()
})
