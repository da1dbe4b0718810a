import { describe, expect, it } from 'vitest'
import { type Scenario, simulate } from 'yaoki/sim'
import { invalidOptionOf } from './invalid-option.ts'
import { invalid, positiveTime } from './invalid-values.ts'
import { valid } from './valid.ts'

/** Returns the valid scenario with another value at a path such as `services.api.faults[0].toMs`; undefined removes it. */
function changed(path: string, value: unknown): Scenario {
	const scenario: Scenario = structuredClone(valid)
	const names = path.split(/[.[\]]+/).filter((name) => name !== '')
	const last = names.pop() ?? ''
	let at: object = scenario
	for (const name of names) at = Reflect.get(at, name)
	if (value === undefined) Reflect.deleteProperty(at, last)
	else Reflect.set(at, last, value)
	return scenario
}

describe('an invalid scenario is rejected with the path of the invalid value', () => {
	// They were read as the defaults, so the simulation showed another policy than the one that was meant.
	it.each([
		['policies.careful[0].retry', 'policies.careful[0].retry'],
		['policies.hop[0].bulkhead', 'policies.hop[0].bulkhead'],
		['policies.careful[0].retry.budget', 'policies.careful[0].retry.budget'],
	])('rejects a function in place of the options %s', (path, reported) => {
		expect(invalidOptionOf(changed(path, () => ({ maxRetries: 3 }))).optionPath).toBe(reported)
	})

	it.each(invalid)('%s: %j', (path, value, expected) => {
		const { optionPath, message } = invalidOptionOf(changed(path, value))
		expect(optionPath).toBe(path)
		expect(message).toContain(expected)
	})

	it.each([
		'',
		'services.api.',
		'services.api.serviceTimeMs.',
		'services.api.queue.',
		'services.api.faults[0].',
		'services.api.faults[3].',
		'services.api.faults[4].',
		'services.db.scalability.',
		'services.api.rateLimit.',
		'faults[0].',
		'services.api.dependsOn[0].',
		'services.row.',
		'clients.web.',
		'clients.web.arrivals.',
		'clients.web.classes.checkout.',
		'clients.replay.arrivals.',
		'clients.daily.arrivals.',
		'clients.daily.arrivals.points[0].',
		'clients.spiky.arrivals.',
		'clients.staff.arrivals.',
	])('unknown field %scolour', (path) => {
		const { optionPath, received, message } = invalidOptionOf(changed(`${path}colour`, 'red'))
		expect([optionPath, received]).toEqual([`${path}colour`, 'red'])
		expect(message).toContain('Valid options: ')
	})

	it('fields of another kind', () => {
		expect(invalidOptionOf(changed('services.row.workers', 3)).optionPath).toBe('services.row.workers')
		expect(invalidOptionOf(changed('clients.beat.arrivals.users', 3)).optionPath).toBe(
			'clients.beat.arrivals.users',
		)
	})

	it.each([undefined, null, 5, 'herd', [], () => valid])(
		'is rejected if it is no scenario at all: %s',
		(scenario) => {
			const expected = { argument: 'scenario', expected: 'an object' }
			expect(() => simulate(scenario as never)).toThrow(expect.objectContaining(expected))
		},
	)

	it('accepts a valid one', () => {
		expect(simulate(valid).events).toBeGreaterThan(500)
	})

	it('is rejected before any function of the user runs', () => {
		const make = () => expect.unreachable()
		const scenario = {
			...changed('clients.beat.arrivals.perSecond', -1),
			policies: { careful: make, hop: [], shared: [] },
		}
		expect(invalidOptionOf(scenario).optionPath).toBe('clients.beat.arrivals.perSecond')
	})

	it('is rejected for an unused policy too', () => {
		const scenario = { ...valid, policies: { ...valid.policies, spare: [{ timeoutMs: -1 }] } }
		expect(invalidOptionOf(scenario)).toMatchObject({
			optionPath: 'policies.spare[0].timeoutMs',
			received: -1,
		})
	})
})

it('values that cannot be converted to a string are rejected too', () => {
	for (const odd of [JSON.parse('{ "toString": 1 }'), Object.create(null), [Symbol('odd')]])
		expect(invalidOptionOf(changed('durationMs', odd)).message).toContain(positiveTime)
})

it('names of inherited properties are valid names', () => {
	const odd = JSON.parse(
		`{ "durationMs": 100, "services": { "__proto__": { "serviceTimeMs": 1 }, "constructor": { "serviceTimeMs": 1 } },
			"clients": { "toString": { "to": "__proto__", "policy": "valueOf", "arrivals": { "kind": "constant", "perSecond": 100 } },
				"hasOwnProperty": { "to": "constructor", "arrivals": { "kind": "constant", "perSecond": 100 } } },
			"policies": { "valueOf": [{ "retry": {} }] } }`,
	)
	const { clients, services } = simulate(odd)
	expect(Object.keys(clients)).toEqual(['toString', 'hasOwnProperty'])
	expect(Object.entries(services).map(([name, { requests }]) => [name, requests])).toEqual([
		['__proto__', 10],
		['constructor', 10],
	])
})
