/** Validates a scenario before it runs: each field, and how the parts fit together. */
import { invalidOption } from '../../core/options/schema.ts'
import type { ClientModel, Scenario, ServerModel } from './scenario.ts'
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

/** Thirty thousand years. Sums of much longer times lose precision. */
const MAX_MS = 1e15
/** Bounded by memory. */
const MAX_USERS = 1e6
const MAX_INSTANCES = 1e5
/** Length of a chain of services, which a request may traverse in a single event. */
const MAX_DEPTH = 100

const kind: Shape = () => {}
const time = amount(0, MAX_MS)
const positiveTime = amount(1e-9, MAX_MS)
const rate = amount(1e-9, 1e9)
const period = { fromMs: time, toMs: time }
const withPeriod = (shape: Shape): Shape => inOrder(shape, 'fromMs', 'toMs', 'more')

const distribution = byKind({
	exponential: fields({ kind, meanMs: time }),
	lognormal: inOrder(fields({ kind, medianMs: positiveTime, p99Ms: positiveTime }), 'medianMs', 'p99Ms'),
	normal: fields({ kind, meanMs: time, sdMs: time }),
	uniform: inOrder(fields({ kind, minMs: time, maxMs: time }), 'minMs', 'maxMs'),
	empirical: fields({ kind, valuesMs: list(time, 1) }),
})

const duration: Shape = (value, path) => {
	if (typeof value === 'number') time(value, path)
	else if (Object(value) !== value)
		invalidOption(path, value, 'a number of milliseconds, or a distribution with a kind')
	else distribution(value, path)
}

const fault = byKind({
	outage: withPeriod(fields({ kind, ...period, 'mode?': oneOf('refuse', 'hang') })),
	slowdown: withPeriod(fields({ kind, ...period, factor: amount(0, 1e6) })),
	errors: withPeriod(fields({ kind, ...period, rate: amount(0, 1), 'status?': count(400, 599) })),
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

const atRate = withPeriod(fields({ kind, perSecond: rate, 'fromMs?': time, 'toMs?': time }))

const client = fields({
	to: text,
	arrivals: byKind({
		poisson: atRate,
		constant: atRate,
		trace: fields({ kind, atMs: list(time) }),
		closed: fields({
			kind,
			users: count(1, MAX_USERS),
			'think?': duration,
			'startWithinMs?': time,
			'callsEach?': count(1),
		}),
	}),
	'policy?': text,
	'instances?': count(1, MAX_INSTANCES),
	'goodWithinMs?': time,
	'deadlineMs?': time,
})

const policy: Shape = (value, path) => {
	if (typeof value === 'function' || Array.isArray(value)) return
	invalidOption(
		path,
		value,
		'a list of layers, or a function that returns a new policy; a policy instance would carry state from run to run',
	)
}

const scenarioShape = fields({
	'name?': text,
	'seed?': (value, path) => {
		// Seeds are counted up, and beyond this the next integer is not representable.
		if (typeof value !== 'string' && !(Math.abs(Number(value)) <= 2 ** 52 && typeof value === 'number'))
			invalidOption(path, value, 'a number up to 2 ** 52, or a string')
	},
	'duration?': positiveTime,
	'warmUpMs?': time,
	'until?': (value, path) => {
		if (typeof value !== 'function' && value !== 'idle' && value !== 'recovered')
			invalidOption(path, value, "'idle', 'recovered' or a function")
	},
	services: named(service, 'service'),
	clients: named(client, 'client'),
	'policies?': named(policy),
	// Not Infinity: a loop that takes no virtual time would never end.
	'maxEvents?': count(1, 1e12),
	'stepMs?': amount(1, MAX_MS),
})

export function checkScenario(scenario: Scenario): void {
	inOrder(scenarioShape, 'warmUpMs', 'duration', 'more')(scenario, '')
	const { services, clients, policies = {} } = scenario
	const checkLink = ({ to, policy: name }: { to: string; policy?: string | undefined }, path: string) => {
		oneOf(...Object.keys(services))(to, `${path}.to`)
		if (name === undefined || Object.hasOwn(policies, name)) return
		const names = Object.keys(policies).join(', ') || 'none defined'
		invalidOption(`${path}.policy`, name, `the name of a policy (${names})`)
	}
	for (const [name, model] of Object.entries(clients)) {
		checkLink(model, `clients.${name}`)
		checkClient(`clients.${name}`, model)
	}
	const servers = services as Readonly<Record<string, Pick<ServerModel, 'dependsOn'>>>
	for (const [name, { dependsOn = [] }] of Object.entries(servers))
		for (const [index, dependency] of dependsOn.entries())
			checkLink(dependency, `services.${name}.dependsOn[${index}]`)
	checkCycles(servers)
	checkEnd(scenario)
}

function checkClient(path: string, model: ClientModel): void {
	const { arrivals, instances } = model
	if (arrivals.kind === 'trace')
		arrivals.atMs.forEach((at, index) => {
			if (index > 0 && at < (arrivals.atMs[index - 1] ?? 0))
				invalidOption(`${path}.arrivals.atMs[${index}]`, at, 'times in ascending order')
		})
	if (arrivals.kind !== 'closed') return
	const { users } = arrivals
	if (instances !== undefined && instances > users)
		invalidOption(`${path}.instances`, instances, `at most the number of users, ${users}`)
	if (instances === undefined && model.policy !== undefined && users > MAX_INSTANCES)
		invalidOption(
			`${path}.instances`,
			undefined,
			`a number up to ${MAX_INSTANCES}; by default each of the ${users} users has its own policy`,
		)
}

/** Rejects services that call each other in a cycle. Each service is visited once, however many paths lead to it. */
function checkCycles(services: Readonly<Record<string, Pick<ServerModel, 'dependsOn'>>>): void {
	const depths = new Map<string, number>()
	const follow = (name: string, callers: readonly string[]): number => {
		const path = `services.${name}.dependsOn`
		if (callers.includes(name))
			invalidOption(path, [...callers, name].join(' -> '), 'no circular dependency between services')
		const known = depths.get(name)
		if (known !== undefined) return known
		const below = (services[name]?.dependsOn ?? []).map(({ to }) => follow(to, [...callers, name]))
		const depth = below.reduce((max, depthBelow) => Math.max(max, depthBelow), 0) + 1
		if (depth > MAX_DEPTH)
			invalidOption(path, `a chain of ${depth} services`, `a chain of at most ${MAX_DEPTH}`)
		depths.set(name, depth)
		return depth
	}
	for (const name of Object.keys(services)) follow(name, [])
}

function checkEnd({ duration: end, until, clients }: Scenario): void {
	if (end !== undefined) return
	const reject = (rest: string): never =>
		invalidOption('duration', undefined, `a number of milliseconds, ${rest}`)
	if (until === undefined) reject("or until: 'idle' with clients that stop calling")
	if (typeof until === 'function') return
	for (const [name, { arrivals }] of Object.entries(clients)) {
		const isEndless =
			arrivals.kind === 'closed'
				? (arrivals.callsEach ?? Infinity) === Infinity
				: arrivals.kind !== 'trace' && arrivals.toMs === undefined
		if (isEndless) reject(`because clients.${name}.arrivals never end`)
	}
	if (until === 'recovered') reject("because until: 'recovered' may never happen")
}
