import { describe, expect, it } from 'vitest'
import { type Scenario, simulate } from 'yaoki/sim'
import { refusal } from './refusal.ts'

describe('services that ask each other in a ring', () => {
	const ring = (asks: Readonly<Record<string, readonly string[]>>): Scenario => ({
		until: 'idle',
		services: Object.fromEntries(
			Object.entries(asks).map(([name, others]) => [
				name,
				{ serviceTime: 1, dependsOn: others.map((to) => ({ to })) },
			]),
		),
		clients: { web: { to: Object.keys(asks)[0] ?? '', arrivals: { kind: 'trace', atMs: [0] } } },
	})

	it.each([
		[
			{ a: ['a'] },
			'Invalid option "services.a.dependsOn": expected services that do not ask each other in a ring, got "a -> a"',
		],
		[{ a: ['b'], b: ['a'] }, "services.a.dependsOn: got 'a -> b -> a'; takes"],
		[{ a: ['b'], b: ['c', 'd'], c: [], d: ['b'] }, "services.b.dependsOn: got 'a -> b -> d -> b'; takes"],
	])('are refused: %j', (asks, message) => {
		expect(refusal(ring(asks)).message).toContain(message)
	})

	it('are not those that meet again further down', () => {
		expect(simulate(ring({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] })).services['d']?.requests).toBe(2)
	})

	it('are looked for in no time, however many ways lead down', () => {
		const floors = Array.from({ length: 40 }, (_, floor) => floor)
		const asks = Object.fromEntries(
			floors.flatMap((floor) => {
				const below = floor < 39 ? [`left${floor + 1}`, `right${floor + 1}`] : []
				return [`left${floor}`, `right${floor}`].map((name) => [name, below])
			}),
		)
		// Two to the power of forty ways. What they do is ended by the limit.
		expect(simulate({ ...ring(asks), maxEvents: 2_000 }).endedBy).toBe('event-limit')
	})

	it('in a row of more than a hundred are refused', () => {
		const row = (count: number) =>
			ring(
				Object.fromEntries(
					Array.from({ length: count }, (_, i) => [`s${i}`, i < count - 1 ? [`s${i + 1}`] : []]),
				),
			)
		expect(refusal(row(150)).message).toMatch(
			/^services\.s\d+\.dependsOn: got '101 services in a row'; takes at most 100$/,
		)
		expect(simulate(row(100)).totals.goodShare).toBe(1)
	})
})

describe('a scenario without an end', () => {
	const endless = (client: object, rest: object): unknown => ({
		services: { api: { serviceTime: 1 } },
		clients: { web: { to: 'api', ...client } },
		...rest,
	})
	const poisson = { arrivals: { kind: 'poisson', perSecond: 1 } }

	it.each([
		[poisson, {}, 'Invalid option "duration": expected a number of milliseconds, or until:, got undefined'],
		[poisson, { until: 'idle' }, 'expected a number of milliseconds, for clients.web.arrivals have no end'],
		[{ arrivals: { kind: 'closed', users: 1 } }, { until: 'idle' }, 'clients.web.arrivals have no end'],
		[
			{ arrivals: { kind: 'closed', users: 1, callsEach: Infinity } },
			{ until: 'idle' },
			'clients.web.arrivals have no end',
		],
		[
			{ arrivals: { kind: 'trace', atMs: [1] } },
			{ until: 'recovered' },
			"beside until: 'recovered', for it may never",
		],
	])('is refused: %j %j', (client, rest, message) => {
		expect(refusal(endless(client, rest)).message).toContain(message)
		expect(refusal(endless(client, rest)).optionPath).toBe('duration')
	})

	it.each([
		[{ arrivals: { kind: 'poisson', perSecond: 1, toMs: 50 } }, { until: 'idle' }],
		[{ arrivals: { kind: 'trace', atMs: [1] } }, { until: 'idle' }],
		[{ arrivals: { kind: 'closed', users: 2, callsEach: 2 } }, { until: 'idle' }],
		[poisson, { until: () => true }],
		[poisson, { duration: 50 }],
	])('is none of these: %j %j', (client, rest) => {
		expect(() => simulate(endless(client, rest) as Scenario)).not.toThrow()
	})
})

it('as many users as there are would have as many policies, so they are asked how many processes they are', () => {
	const scenario: Scenario = {
		duration: 1,
		services: { api: { serviceTime: 1 } },
		clients: { web: { to: 'api', policy: 'p', arrivals: { kind: 'closed', users: 200_000 } } },
		policies: { p: [] },
	}
	expect(refusal(scenario).message).toBe(
		'Invalid option "clients.web.instances": expected a number up to 100000, for 200000 users would have a policy each, got undefined',
	)
})
