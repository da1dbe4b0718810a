import { describe, expect, it } from 'vitest'
import { type Scenario, simulate } from 'yaoki/sim'
import { refusal } from './refusal.ts'
import { valid } from './valid.ts'
import { someTime, wrong } from './wrong-places.ts'

/** The scenario with another value at a place such as `services.api.faults[0].toMs`; undefined takes it away. */
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

describe('a scenario is refused by the place that is wrong', () => {
	it.each(wrong)('%s of %j', (path, value, message) => {
		const { optionPath, message: whole } = refusal(changed(path, value))
		expect(whole).toContain(message)
		expect(optionPath).toBe(path)
	})

	it.each([
		'',
		'services.api.',
		'services.api.serviceTime.',
		'services.api.queue.',
		'services.api.faults[0].',
		'services.api.rateLimit.',
		'services.api.dependsOn[0].',
		'services.row.',
		'clients.web.',
		'clients.web.arrivals.',
		'clients.replay.arrivals.',
		'clients.staff.arrivals.',
	])('an unknown field is one: %scolour', (place) => {
		const { message } = refusal(changed(`${place}colour`, 'red'))
		const takes = "got 'red'; takes nothing, for there is no such field here, only "
		expect(message.startsWith(`${place}colour: ${takes}`), message).toBe(true)
		expect(message.length).toBeGreaterThan(`${place}colour: ${takes}`.length)
	})

	it('a field of another kind is unknown, too', () => {
		expect(refusal(changed('services.row.workers', 3)).message).toContain(
			'Invalid option "services.row.workers": expected nothing, got 3',
		)
		expect(refusal(changed('clients.beat.arrivals.users', 3)).message).toContain(
			/Invalid option "clients\.beat\.arrivals\.users": expected .*, got 3/,
		)
	})

	it.each([undefined, null, 5, 'herd', [], () => valid])('no scenario at all is one: %s', (scenario) => {
		expect(refusal(scenario).message).toMatch(/^Invalid option "scenario": expected an object$.*, got .*/)
	})

	it('and is none when nothing is wrong with it', () => {
		expect(simulate(valid).events).toBeGreaterThan(500)
	})

	it('before anything runs, functions of the user included', () => {
		const make = () => expect.unreachable()
		const scenario = {
			...changed('clients.beat.arrivals.perSecond', -1),
			policies: { careful: make, hop: [], shared: [] },
		}
		expect(() => simulate(scenario)).toThrow(/^clients\.beat/)
	})

	it('a policy that nobody uses yet is refused as well', () => {
		expect(() => simulate({ ...valid, policies: { ...valid.policies, spare: [{ timeout: -1 }] } })).toThrow(
			/^Invalid option "policies\.spare\[0\]\.timeout": expected .*, got -1/,
		)
	})
})

it('what can not even be shown is refused all the same', () => {
	for (const odd of [JSON.parse('{ "toString": 1 }'), Object.create(null), [Symbol('odd')]])
		expect(refusal(changed('duration', odd)).message).toBe(`duration: got object; ${someTime}`)
})

it('names that are also those of every object are names like any other', () => {
	const odd = JSON.parse(
		`{ "duration": 100, "services": { "__proto__": { "serviceTime": 1 }, "constructor": { "serviceTime": 1 } },
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
