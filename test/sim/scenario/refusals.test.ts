import { describe, expect, it } from 'vitest'
import { InvalidOptionError } from 'yaoki'
import { type Scenario, Simulation, simulate } from 'yaoki/sim'
import { valid } from './valid.ts'

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

function refusal(scenario: unknown): InvalidOptionError {
	try {
		new Simulation(scenario as Scenario)
	} catch (error) {
		if (error instanceof InvalidOptionError) return error
		throw error
	}
	return expect.unreachable('it was not refused')
}

const huge = 1e16
const time = 'takes a number from 0 to 1000000000000000'
const someTime = 'takes a number from 1e-9 to 1000000000000000'
const rate = 'takes a number from 1e-9 to 1000000000'
const share = 'takes a number from 0 to 1'
const flag = 'takes true or false'
const object = 'takes an object'
const needed = 'takes a value; it can not be left out'

/** Where, what it is given, and how it is refused after `where: `. */
const wrong: readonly (readonly [path: string, value: unknown, message: string])[] = [
	// The whole.
	['name', 5, 'got 5; takes a text'],
	['name', '', "got ''; takes a text"],
	['seed', NaN, 'got NaN; takes a number up to 2 ** 52, or a text'],
	['seed', 2 ** 60, 'got 1152921504606847000; takes'],
	['seed', null, 'got null; takes'],
	['seed', [1], 'got [1]; takes'],
	['duration', 0, `got 0; ${someTime}`],
	['duration', -5, `got -5; ${someTime}`],
	['duration', NaN, `got NaN; ${someTime}`],
	['duration', Infinity, `got Infinity; ${someTime}`],
	['duration', '60s', `got '60s'; ${someTime}`],
	['duration', undefined, 'got undefined; takes a number of milliseconds'],
	['until', 'done', "got 'done'; takes 'idle', 'recovered' or a function"],
	['until', 5, 'got 5; takes'],
	['maxEvents', 0, 'got 0; takes a whole number from 1 to 1000000000000'],
	['maxEvents', Infinity, 'got Infinity; takes a whole number'],
	['maxEvents', 1.5, 'got 1.5; takes a whole number'],
	['stepMs', 0, 'got 0; takes a number from 1 to'],
	['services', [], `got []; ${object}`],
	['services', {}, "got '{}'; takes at least one service"],
	['services', undefined, `got undefined; ${needed}`],
	['clients', {}, "got '{}'; takes at least one client"],
	['clients', null, `got null; ${object}`],
	['policies', 'none', `got 'none'; ${object}`],
	// Services.
	['services.api', 5, `got 5; ${object}`],
	['services.api', null, `got null; ${object}`],
	['services.api.kind', 'queue', "got 'queue'; takes 'server' or 'row'"],
	['services.api.kind', null, "got null; takes 'server' or 'row'"],
	['services.api.kind', 'toString', "got 'toString'; takes 'server' or 'row'"],
	['services.api.workers', -1, 'got -1; takes a whole number, 1 or more'],
	['services.api.workers', 0, 'got 0; takes a whole number, 1 or more'],
	['services.api.workers', 2.5, 'got 2.5; takes a whole number, 1 or more'],
	['services.api.workers', NaN, 'got NaN; takes'],
	['services.api.workers', '4', "got '4'; takes"],
	['services.api.serviceTime', undefined, `got undefined; ${needed}`],
	['services.api.serviceTime', -1, `got -1; ${time}`],
	['services.api.serviceTime', NaN, `got NaN; ${time}`],
	['services.api.serviceTime', huge, `got 10000000000000000; ${time}`],
	[
		'services.api.serviceTime',
		'20ms',
		"got '20ms'; takes a number of milliseconds, or a distribution with a kind",
	],
	['services.api.serviceTime.kind', 'pareto', "got 'pareto'; takes 'exponential' or 'lognormal' or"],
	['services.api.serviceTime.kind', undefined, "got undefined; takes 'exponential' or"],
	['services.api.serviceTime.meanMs', -1, `got -1; ${time}`],
	['services.api.serviceTime.meanMs', undefined, `got undefined; ${needed}`],
	['services.db.serviceTime.medianMs', 0, `got 0; ${someTime}`],
	['services.db.serviceTime.p99Ms', 4, 'got 4; takes medianMs or more, which is 5'],
	['services.cache.serviceTime.valuesMs', [], 'got []; takes a list of 1 or more'],
	['services.cache.serviceTime.valuesMs', 5, 'got 5; takes a list of 1 or more'],
	['services.cache.serviceTime.valuesMs[1]', -2, `got -2; ${time}`],
	['services.cache.serviceTime.valuesMs[2]', '30', `got '30'; ${time}`],
	['services.api.latency.greatestMs', 0.5, 'got 0.5; takes leastMs or more, which is 1'],
	['services.row.latency.sdMs', -2, `got -2; ${time}`],
	['services.api.queue', true, `got true; ${object}`],
	['services.api.queue.limit', -1, 'got -1; takes a whole number, 0 or more'],
	['services.api.queue.order', 'random', "got 'random'; takes 'fifo' or 'lifo'"],
	['services.api.queue.dropExpired', 'yes', `got 'yes'; ${flag}`],
	['services.api.queue.maxAgeMs', -1, `got -1; ${time}`],
	['services.api.faults', {}, 'got [object Object]; takes a list'],
	['services.api.faults[0]', 'outage', `got 'outage'; ${object}`],
	['services.api.faults[0].kind', 'fire', "got 'fire'; takes 'outage' or 'slowdown' or 'errors'"],
	['services.api.faults[0].toMs', 200, 'got 200; takes more than fromMs, which is 200'],
	['services.api.faults[0].toMs', undefined, `got undefined; ${needed}`],
	['services.api.faults[0].fromMs', -1, `got -1; ${time}`],
	['services.api.faults[0].how', 'loudly', "got 'loudly'; takes 'refuse' or 'hang'"],
	['services.api.faults[1].factor', -3, 'got -3; takes a number from 0 to 1000000'],
	['services.api.faults[2].rate', 20, `got 20; ${share}`],
	['services.api.faults[2].status', 200, 'got 200; takes a whole number from 400 to 599'],
	['services.api.rateLimit', 500, `got 500; ${object}`],
	['services.api.rateLimit.perSecond', 0, `got 0; ${rate}`],
	['services.api.rateLimit.perSecond', -5, `got -5; ${rate}`],
	['services.api.rateLimit.burst', 0, 'got 0; takes a number from 1 to 1000000000'],
	['services.api.rateLimit.retryAfter', 1, `got 1; ${flag}`],
	['services.api.dependsOn', { to: 'db' }, 'got [object Object]; takes a list'],
	['services.api.dependsOn[0].to', 'sb', "got 'sb'; takes 'api' or 'db' or 'cache' or 'row'"],
	['services.api.dependsOn[0].to', undefined, `got undefined; ${needed}`],
	[
		'services.api.dependsOn[0].policy',
		'hops',
		"got 'hops'; takes the name of one of the policies: careful, hop, shared",
	],
	['services.api.dependsOn[0].share', 1.5, `got 1.5; ${share}`],
	['services.api.dependsOn[0].passContext', 'yes', `got 'yes'; ${flag}`],
	// Clients.
	['clients.web', [], `got []; ${object}`],
	['clients.web.to', 'apis', "got 'apis'; takes 'api' or 'db' or 'cache' or 'row'"],
	['clients.web.to', undefined, `got undefined; ${needed}`],
	['clients.web.to', 7, 'got 7; takes a text'],
	[
		'clients.web.policy',
		'carefree',
		"got 'carefree'; takes the name of one of the policies: careful, hop, shared",
	],
	['clients.web.policy', 'toString', "got 'toString'; takes the name of one of the policies"],
	['clients.web.policy', null, 'got null; takes a text'],
	['clients.web.instances', 0, 'got 0; takes a whole number from 1 to 100000'],
	['clients.web.instances', 1e6, 'got 1000000; takes a whole number from 1 to 100000'],
	['clients.web.goodWithinMs', -1, `got -1; ${time}`],
	['clients.web.deadlineMs', Infinity, `got Infinity; ${time}`],
	['clients.web.arrivals', undefined, `got undefined; ${needed}`],
	['clients.web.arrivals', 80, `got 80; ${object}`],
	[
		'clients.web.arrivals.kind',
		'bursty',
		"got 'bursty'; takes 'poisson' or 'constant' or 'trace' or 'closed'",
	],
	['clients.web.arrivals.perSecond', -80, `got -80; ${rate}`],
	['clients.web.arrivals.perSecond', 0, `got 0; ${rate}`],
	['clients.web.arrivals.perSecond', NaN, `got NaN; ${rate}`],
	['clients.web.arrivals.perSecond', undefined, `got undefined; ${needed}`],
	['clients.web.arrivals.toMs', 10, 'got 10; takes more than fromMs, which is 10'],
	['clients.beat.arrivals.fromMs', -1, `got -1; ${time}`],
	['clients.replay.arrivals.atMs', 5, 'got 5; takes a list'],
	['clients.replay.arrivals.atMs[1]', -5, `got -5; ${time}`],
	['clients.replay.arrivals.atMs[3]', 4, 'got 4; takes times in order'],
	['clients.staff.arrivals.users', 0, 'got 0; takes a whole number from 1 to 1000000'],
	['clients.staff.arrivals.users', 2e6, 'got 2000000; takes a whole number from 1 to 1000000'],
	['clients.staff.arrivals.think', 'long', "got 'long'; takes a number of milliseconds, or a distribution"],
	['clients.staff.arrivals.startWithinMs', -1, `got -1; ${time}`],
	['clients.staff.arrivals.callsEach', 0, 'got 0; takes a whole number, 1 or more'],
	['clients.staff.instances', 6, 'got 6; takes no more than there are users, 5'],
	// Policies.
	[
		'policies.careful',
		{ retry: {} },
		'got [object Object]; takes a list of layers, or a function that makes a policy',
	],
	['policies.careful', null, 'got null; takes a list of layers'],
	['policies.careful[1]', 'retry', "got 'retry'; takes one of retry, timeout, circuitBreaker,"],
	['policies.careful[1]', {}, "got 'nothing'; takes one of retry, timeout, circuitBreaker,"],
	['policies.careful[1]', { shared: true }, "got 'nothing'; takes one of"],
	['policies.careful[1]', { breaker: {} }, "got 'breaker'; takes one of retry, timeout, circuitBreaker,"],
	['policies.careful[1]', { retry: {}, timeout: 5 }, "got 'retry and timeout'; takes one of"],
	['policies.careful[1].shared', 'yes', `got 'yes'; ${flag}`],
	['policies.careful[0].retry', 3, 'got 3; takes its options as an object, {} for the defaults'],
	['policies.careful[0].retry', [], 'got []; takes its options as an object, {} for the defaults'],
	['policies.careful[0].retry', null, 'got null; takes its options as an object, {} for the defaults'],
	['policies.careful[0].retry.maxRetries', -1, 'got -1; takes'],
	['policies.careful[0].retry.maxRetries', 1.5, 'got 1.5; takes a whole number'],
	[
		'policies.careful[0].retry.maxRetry',
		3,
		'got 3; takes nothing, for there is no such option, only baseDelayMs,',
	],
	['policies.careful[0].retry.jitterStrategy', 'some', "got 'some'; takes one of none,"],
	[
		'policies.careful[0].retry.runtime',
		{},
		'got [object Object]; takes nothing here: time is that of the run',
	],
	['policies.careful[0].retry.shouldRetry', true, 'got true; takes a function'],
	['policies.careful[2].timeout', -1, 'got -1; takes a finite number, 0 or more'],
	['policies.careful[2].timeout', '1s', "got '1s'; takes a finite number, 0 or more"],
	['policies.careful[2].timeout', {}, 'got [object Object]; takes a finite number, 0 or more'],
	['policies.careful[1].circuitBreaker.failureThreshold', 0, 'got 0; takes'],
	['policies.hop[0].bulkhead.maxConcurrent', 0, 'got 0; takes'],
	['policies.hop[1].hedge.delayMs', NaN, 'got NaN; takes'],
	['policies.shared[0].rateLimiter.limit', -1, 'got -1; takes'],
	['policies.shared[1].adaptiveThrottle.k', 'x', "got 'x'; takes"],
	['policies.shared[2].adaptiveBulkhead.minConcurrent', -1, 'got -1; takes'],
	// Budgets.
	[
		'policies.careful[0].retry.budget',
		0.1,
		"got 0.1; takes a budget's options, such as { maxRetryRatio: 0.1 }",
	],
	['policies.careful[0].retry.budget', [], "got []; takes a budget's options"],
	['policies.careful[0].retry.budget', null, "got null; takes a budget's options"],
	['policies.careful[0].retry.budget.kind', 'gold', "got 'gold'; takes 'ratio' or 'tokens' or 'quota'"],
	['policies.careful[0].retry.budget.kind', ['ratio'], "got [ratio]; takes 'ratio' or"],
	['policies.careful[0].retry.budget.shared', 'yes', `got 'yes'; ${flag}`],
	['policies.careful[0].retry.budget.maxRetryRatio', -1, 'got -1; takes a number from 0 to 10'],
	[
		'policies.careful[0].retry.budget.maxRatio',
		1,
		'got 1; takes nothing, for there is no such option, only maxRetryRatio,',
	],
	['policies.shared[3].retry.budget.maxTokens', -1, 'got -1; takes'],
	['policies.hop[1].hedge.budget.capacity', 'much', "got 'much'; takes"],
]

describe('a scenario is refused by the place that is wrong', () => {
	it.each(wrong)('%s of %j', (path, value, message) => {
		const { option, message: whole } = refusal(changed(path, value))
		expect(whole.startsWith(`${path}: ${message}`), whole).toBe(true)
		expect(option).toBe(path)
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
			'services.row.workers: got 3; takes nothing',
		)
		expect(refusal(changed('clients.beat.arrivals.users', 3)).message).toContain(
			'clients.beat.arrivals.users: got 3',
		)
	})

	it.each([undefined, null, 5, 'herd', [], () => valid])('no scenario at all is one: %s', (scenario) => {
		expect(refusal(scenario).message).toMatch(/^scenario: got .*; takes an object$/)
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
			/^policies\.spare\[0\]\.timeout: got -1/,
		)
	})
})

it('what can not even be shown is refused all the same', () => {
	for (const odd of [JSON.parse('{ "toString": 1 }'), Object.create(null), [Symbol('odd')]])
		expect(refusal(changed('duration', odd)).message).toBe(`duration: got object; ${someTime}`)
})

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
		[{ a: ['a'] }, "services.a.dependsOn: got 'a -> a'; takes services that do not ask each other in a ring"],
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
		[poisson, {}, 'duration: got undefined; takes a number of milliseconds, or until: '],
		[poisson, { until: 'idle' }, 'takes a number of milliseconds, for clients.web.arrivals have no end'],
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
		expect(refusal(endless(client, rest)).option).toBe('duration')
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
		'clients.web.instances: got undefined; takes a number up to 100000, for 200000 users would have a policy each',
	)
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
