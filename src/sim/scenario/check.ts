/** Validates a scenario before it runs: each field, and how the parts fit together. */
import { invalidArgument, invalidOption, isObject } from '../../core/options/schema.ts'
import { arrivalsShape, checkArrivals, isEndless } from './check-arrivals.ts'
import { balancerFields, checkServices, faultShape, sharedFaultShape } from './check-services.ts'
import type { ClientModel, Scenario, ServerModel } from './scenario.ts'
import {
	amount,
	byKind,
	count,
	duration,
	fields,
	flag,
	inOrder,
	kind,
	list,
	MAX_MS,
	named,
	oneOf,
	positiveTime,
	rate,
	type Shape,
	text,
	time,
} from './shape.ts'

/** Bounded by memory. */
const MAX_INSTANCES = 1e5
/** Length of a chain of services, which a request may traverse in a single event. */
const MAX_DEPTH = 100

const service = byKind(
	{
		server: fields({
			'kind?': kind,
			'workers?': count(1),
			serviceTimeMs: duration,
			'scalability?': fields({ 'contention?': amount(0, 1), 'coherency?': amount(0, 1) }),
			'queue?': fields({
				'limit?': count(0),
				'order?': oneOf('fifo', 'lifo'),
				'dropExpired?': flag,
				'maxAgeMs?': time,
			}),
			'latencyMs?': duration,
			'faults?': list(faultShape),
			'rateLimit?': fields({ perSecond: rate, 'burst?': amount(1, 1e9), 'retryAfter?': flag }),
			'dependsOn?': list(
				fields({
					to: text,
					'policy?': text,
					'share?': amount(0, 1),
					'parallel?': flag,
					'passContext?': flag,
				}),
			),
			'ignoresSignal?': flag,
			...balancerFields,
		}),
		'optimistic-lock': fields({ kind, 'latencyMs?': duration }),
	},
	'server',
)

const client = fields({
	to: text,
	arrivals: arrivalsShape,
	'classes?': named(
		fields({ share: amount(0, 1), 'serviceTimeFactor?': amount(0, 1e6), 'priority?': amount(-1e6, 1e6) }),
		'class',
	),
	'policy?': text,
	'instances?': count(1, MAX_INSTANCES),
	'goodWithinMs?': time,
	'deadlineMs?': time,
	'ignoresSignal?': flag,
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
	'durationMs?': positiveTime,
	'warmUpMs?': time,
	'until?': (value, path) => {
		if (typeof value !== 'function' && value !== 'idle' && value !== 'recovered')
			invalidOption(path, value, "'idle', 'recovered' or a function")
	},
	services: named(service, 'service'),
	clients: named(client, 'client'),
	'policies?': named(policy),
	'faults?': list(sharedFaultShape),
	// Not Infinity: a loop that takes no virtual time would never end.
	'maxEvents?': count(1, 1e12),
	'stepMs?': amount(1, MAX_MS),
})

/** Rejects what is no object. Fields of a scenario are options, the scenario itself is an argument. */
export function checkIsScenario(scenario: unknown, argument = 'scenario'): void {
	if (!isObject(scenario)) invalidArgument(argument, scenario, 'an object')
}

export function checkScenario(scenario: Scenario): void {
	checkIsScenario(scenario)
	inOrder(scenarioShape, 'warmUpMs', 'durationMs', 'more')(scenario, '')
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
		for (const [index, dependency] of dependsOn.entries()) {
			const path = `services.${name}.dependsOn[${index}]`
			checkLink(dependency, path)
			if (index === 0 && dependency.parallel)
				invalidOption(`${path}.parallel`, true, 'false or nothing, because no dependency is before it')
		}
	checkCycles(servers)
	checkServices(scenario)
	checkEnd(scenario)
}

function checkClient(path: string, model: ClientModel): void {
	const { arrivals, instances, classes } = model
	const shares = Object.values(classes ?? {}).reduce((sum, { share }) => sum + share, 0)
	// The tolerance absorbs rounding: 0.1 + 0.2 + 0.7 is not exactly 1.
	if (classes && Math.abs(shares - 1) > 1e-9)
		invalidOption(`${path}.classes`, shares, 'shares that add up to 1')
	checkArrivals(`${path}.arrivals`, arrivals)
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

function checkEnd({ durationMs: end, until, clients }: Scenario): void {
	if (end !== undefined) return
	const reject = (rest: string): never =>
		invalidOption('durationMs', undefined, `a number of milliseconds, ${rest}`)
	if (until === undefined) reject("or until: 'idle' with clients that stop calling")
	if (typeof until === 'function') return
	for (const [name, { arrivals }] of Object.entries(clients))
		if (isEndless(arrivals)) reject(`because clients.${name}.arrivals never end`)
	if (until === 'recovered') reject("because until: 'recovered' may never happen")
}
