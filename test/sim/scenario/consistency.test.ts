import { describe, expect, it } from 'vitest'
import { type Scenario, simulate } from 'yaoki/sim'
import { invalidOptionOf } from './invalid-option.ts'

describe('circular dependencies between services', () => {
	const chain = (asks: Readonly<Record<string, readonly string[]>>): Scenario => ({
		until: 'idle',
		services: Object.fromEntries(
			Object.entries(asks).map(([name, others]) => [
				name,
				{ serviceTimeMs: 1, dependsOn: others.map((to) => ({ to })) },
			]),
		),
		clients: { web: { to: Object.keys(asks)[0] ?? '', arrivals: { kind: 'trace', atMs: [0] } } },
	})

	it.each([
		[{ a: ['a'] }, 'services.a.dependsOn', 'a -> a'],
		[{ a: ['b'], b: ['a'] }, 'services.a.dependsOn', 'a -> b -> a'],
		[{ a: ['b'], b: ['c', 'd'], c: [], d: ['b'] }, 'services.b.dependsOn', 'a -> b -> d -> b'],
	])('are rejected: %j', (asks, optionPath, received) => {
		const error = invalidOptionOf(chain(asks))
		expect(error).toMatchObject({ optionPath, received })
		expect(error.message).toContain('no circular dependency between services')
	})

	it('do not include services that are reached by two paths', () => {
		expect(simulate(chain({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] })).services['d']?.requests).toBe(2)
	})

	it('are found quickly, however many paths there are', () => {
		const floors = Array.from({ length: 40 }, (_, floor) => floor)
		const asks = Object.fromEntries(
			floors.flatMap((floor) => {
				const below = floor < 39 ? [`left${floor + 1}`, `right${floor + 1}`] : []
				return [`left${floor}`, `right${floor}`].map((name) => [name, below])
			}),
		)
		// 2^40 paths. The event limit ends the run.
		expect(simulate({ ...chain(asks), maxEvents: 2_000 }).endedBy).toBe('event-limit')
	})

	it('a chain of more than 100 services is rejected', () => {
		const row = (count: number) =>
			chain(
				Object.fromEntries(
					Array.from({ length: count }, (_, i) => [`s${i}`, i < count - 1 ? [`s${i + 1}`] : []]),
				),
			)
		expect(invalidOptionOf(row(150))).toMatchObject({
			optionPath: expect.stringMatching(/^services\.s\d+\.dependsOn$/),
			received: 'a chain of 101 services',
		})
		expect(simulate(row(100)).totals.goodShare).toBe(1)
	})
})

describe('a scenario that never ends', () => {
	const endless = (client: object, rest: object): unknown => ({
		services: { api: { serviceTimeMs: 1 } },
		clients: { web: { to: 'api', ...client } },
		...rest,
	})
	const poisson = { arrivals: { kind: 'poisson', perSecond: 1 } }

	it.each([
		[poisson, {}, 'a number of milliseconds, or until: '],
		[poisson, { until: 'idle' }, 'a number of milliseconds, because clients.web.arrivals never end'],
		[{ arrivals: { kind: 'closed', users: 1 } }, { until: 'idle' }, 'clients.web.arrivals never end'],
		[
			{ arrivals: { kind: 'closed', users: 1, callsEach: Infinity } },
			{ until: 'idle' },
			'clients.web.arrivals never end',
		],
		[
			{ arrivals: { kind: 'trace', atMs: [1] } },
			{ until: 'recovered' },
			"until: 'recovered' may never happen",
		],
	])('is rejected: %j %j', (client, rest, message) => {
		expect(invalidOptionOf(endless(client, rest)).message).toContain(message)
		expect(invalidOptionOf(endless(client, rest)).optionPath).toBe('durationMs')
	})

	it.each([
		[{ arrivals: { kind: 'poisson', perSecond: 1, toMs: 50 } }, { until: 'idle' }],
		[{ arrivals: { kind: 'trace', atMs: [1] } }, { until: 'idle' }],
		[{ arrivals: { kind: 'closed', users: 2, callsEach: 2 } }, { until: 'idle' }],
		[poisson, { until: () => true }],
		[poisson, { durationMs: 50 }],
	])('is not one with an end: %j %j', (client, rest) => {
		expect(() => simulate(endless(client, rest) as Scenario)).not.toThrow()
	})
})

it('instances is required if every user of a large group would have its own policy', () => {
	const scenario: Scenario = {
		durationMs: 1,
		services: { api: { serviceTimeMs: 1 } },
		clients: { web: { to: 'api', policy: 'p', arrivals: { kind: 'closed', users: 200_000 } } },
		policies: { p: [] },
	}
	const { optionPath, message } = invalidOptionOf(scenario)
	expect(optionPath).toBe('clients.web.instances')
	expect(message).toContain('a number up to 100000; by default each of the 200000 users has its own policy')
})
