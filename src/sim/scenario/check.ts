/** Refuses a scenario that can not work, before anything of it runs: every field by its place, and what fits together. */
import { invalidOption } from '../../core/options/schema.ts'
import type { ClientModel, PolicyModel, Scenario, ServerModel } from './scenario.ts'
import {
	amount,
	byKind,
	count,
	fields,
	flag,
	inOrder,
	list,
	named,
	oneOf,
	type Shape,
	text,
} from './shape.ts'

/** Thirty thousand years. With numbers much beyond that a sum of times may be none any more. */
const MOST_MS = 1e15
/** As many as there is memory for. */
const MOST_USERS = 1e6
const MOST_INSTANCES = 1e5
/** Services that ask each other one after the other: a request may go through all of them at once. */
const DEEPEST = 100

const kind: Shape = () => {}
const time = amount(0, MOST_MS)
const someTime = amount(1e-9, MOST_MS)
const rate = amount(1e-9, 1e9)
const span = { fromMs: time, toMs: time }
const spanning = (shape: Shape): Shape => inOrder(shape, 'fromMs', 'toMs', 'more')

const laws = byKind({
	exponential: fields({ kind, meanMs: time }),
	lognormal: inOrder(fields({ kind, medianMs: someTime, p99Ms: someTime }), 'medianMs', 'p99Ms'),
	normal: fields({ kind, meanMs: time, sdMs: time }),
	uniform: inOrder(fields({ kind, minMs: time, maxMs: time }), 'minMs', 'maxMs'),
	empirical: fields({ kind, valuesMs: list(time, 1) }),
})

const duration: Shape = (value, path) => {
	if (typeof value === 'number') time(value, path)
	else if (Object(value) !== value)
		invalidOption(path, value, 'a number of milliseconds, or a distribution with a kind')
	else laws(value, path)
}

const fault = byKind({
	outage: spanning(fields({ kind, ...span, 'mode?': oneOf('refuse', 'hang') })),
	slowdown: spanning(fields({ kind, ...span, factor: amount(0, 1e6) })),
	errors: spanning(fields({ kind, ...span, rate: amount(0, 1), 'status?': count(400, 599) })),
})

const service = byKind(
	{
		server: fields({
			'kind?': kind,
			'workers?': count(1),
			serviceTime: duration,
			'queue?': fields({
				'limit?': count(0),
				'order?': oneOf('fifo', 'lifo'),
				'dropExpired?': flag,
				'maxAgeMs?': time,
			}),
			'latency?': duration,
			'faults?': list(fault),
			'rateLimit?': fields({ perSecond: rate, 'burst?': amount(1, 1e9), 'retryAfter?': flag }),
			'dependsOn?': list(fields({ to: text, 'policy?': text, 'share?': amount(0, 1), 'passContext?': flag })),
		}),
		'optimistic-lock': fields({ kind, 'latency?': duration }),
	},
	'server',
)

const atRate = spanning(fields({ kind, perSecond: rate, 'fromMs?': time, 'toMs?': time }))

const client = fields({
	to: text,
	arrivals: byKind({
		poisson: atRate,
		constant: atRate,
		trace: fields({ kind, atMs: list(time) }),
		closed: fields({
			kind,
			users: count(1, MOST_USERS),
			'think?': duration,
			'startWithinMs?': time,
			'callsEach?': count(1),
		}),
	}),
	'policy?': text,
	'instances?': count(1, MOST_INSTANCES),
	'goodWithinMs?': time,
	'deadlineMs?': time,
})

const policy: Shape = (value, path) => {
	if (typeof value === 'function' || Array.isArray(value)) return
	invalidOption(
		path,
		value,
		'a list of layers, or a function that makes a policy; a policy itself remembers, and every run must begin afresh',
	)
}

const scenarioShape = fields({
	'name?': text,
	'seed?': (value, path) => {
		// Of greater numbers the next one is the same, and seeds are counted up.
		if (typeof value !== 'string' && !(Math.abs(Number(value)) <= 2 ** 52 && typeof value === 'number'))
			invalidOption(path, value, 'a number up to 2 ** 52, or a text')
	},
	'duration?': someTime,
	'until?': (value, path) => {
		if (typeof value !== 'function' && value !== 'idle' && value !== 'recovered')
			invalidOption(path, value, "'idle', 'recovered' or a function")
	},
	services: named(service, 'service'),
	clients: named(client, 'client'),
	'policies?': named(policy),
	// Not Infinity: what loops without taking time would have no end.
	'maxEvents?': count(1, 1e12),
	'stepMs?': amount(1, MOST_MS),
})

export function checkScenario(scenario: Scenario): void {
	scenarioShape(scenario, '')
	const { services, clients, policies = {}, until, duration: end } = scenario
	const known: Known = { services: Object.keys(services), policies }
	for (const [name, model] of Object.entries(clients)) checkClient(`clients.${name}`, model, known)
	for (const [name, model] of Object.entries(services))
		if (model.kind !== 'optimistic-lock') checkServer(`services.${name}`, model, known)
	checkRing(services as Readonly<Record<string, ServerModel>>)
	checkEnd(scenario)
	if (until === 'recovered' && end === undefined)
		invalidOption(
			'duration',
			undefined,
			"a number of milliseconds beside until: 'recovered', for it may never",
		)
}

interface Known {
	readonly services: readonly string[]
	readonly policies: Readonly<Record<string, PolicyModel>>
}

function checkLink(
	{ to, policy: name }: { to: string; policy?: string | undefined },
	path: string,
	known: Known,
): void {
	oneOf(...known.services)(to, `${path}.to`)
	if (name === undefined || Object.hasOwn(known.policies, name)) return
	const names = Object.keys(known.policies).join(', ') || 'there are none'
	invalidOption(`${path}.policy`, name, `the name of one of the policies: ${names}`)
}

function checkClient(path: string, model: ClientModel, known: Known): void {
	checkLink(model, path, known)
	const { arrivals, instances } = model
	if (arrivals.kind === 'trace')
		arrivals.atMs.forEach((at, index) => {
			if (index > 0 && at < (arrivals.atMs[index - 1] ?? 0))
				invalidOption(`${path}.arrivals.atMs[${index}]`, at, 'times in order')
		})
	if (arrivals.kind !== 'closed') return
	const { users } = arrivals
	if (instances !== undefined && instances > users)
		invalidOption(`${path}.instances`, instances, `no more than there are users, ${users}`)
	if (instances === undefined && model.policy !== undefined && users > MOST_INSTANCES)
		invalidOption(
			`${path}.instances`,
			undefined,
			`a number up to ${MOST_INSTANCES}, for ${users} users would have a policy each`,
		)
}

function checkServer(path: string, model: ServerModel, known: Known): void {
	for (const [index, one] of (model.dependsOn ?? []).entries())
		checkLink(one, `${path}.dependsOn[${index}]`, known)
}

/** Services that ask each other in a ring would never answer. Each is followed once, however many ways lead to it. */
function checkRing(services: Readonly<Record<string, ServerModel>>): void {
	const depths = new Map<string, number>()
	const follow = (name: string, trail: readonly string[]): number => {
		const path = `services.${name}.dependsOn`
		if (trail.includes(name))
			invalidOption(path, [...trail, name].join(' -> '), 'services that do not ask each other in a ring')
		const known = depths.get(name)
		if (known !== undefined) return known
		const below = (services[name]?.dependsOn ?? []).map(({ to }) => follow(to, [...trail, name]))
		const depth = below.reduce((deepest, one) => Math.max(deepest, one), 0) + 1
		if (depth > DEEPEST) invalidOption(path, `${depth} services in a row`, `at most ${DEEPEST}`)
		depths.set(name, depth)
		return depth
	}
	for (const name of Object.keys(services)) follow(name, [])
}

function checkEnd({ duration: end, until, clients }: Scenario): void {
	if (end !== undefined) return
	const takes = "a number of milliseconds, or until: 'idle' with clients that come to an end"
	if (until === undefined) invalidOption('duration', undefined, takes)
	for (const [name, { arrivals }] of Object.entries(clients)) {
		const isEndless =
			arrivals.kind === 'closed'
				? (arrivals.callsEach ?? Infinity) === Infinity
				: arrivals.kind !== 'trace' && arrivals.toMs === undefined
		if (isEndless && typeof until !== 'function')
			invalidOption(
				'duration',
				undefined,
				`a number of milliseconds, for clients.${name}.arrivals have no end`,
			)
	}
}
