/** Refuses a scenario that can not work, before anything of it runs: every field by its place, and what fits together. */
import { refuse } from '../../core/options/rules.ts'
import type { ClientModel, PolicyModel, Scenario, ServerModel } from './scenario.ts'
import { amount, byKind, count, fields, flag, list, named, oneOf, type Shape, text } from './shape.ts'

const kind: Shape = () => {}
const span = { fromMs: amount(), toMs: amount() }
const rate = amount(1e-9, 1e9)

const laws = byKind({
	exponential: fields({ kind, meanMs: amount() }),
	lognormal: fields({ kind, medianMs: amount(Number.MIN_VALUE), p99Ms: amount(Number.MIN_VALUE) }),
	normal: fields({ kind, meanMs: amount(), sdMs: amount() }),
	uniform: fields({ kind, leastMs: amount(), greatestMs: amount() }),
	empirical: fields({ kind, valuesMs: list(amount(), 1) }),
})

const duration: Shape = (value, path) => {
	if (typeof value === 'number') amount()(value, path)
	else if (Object(value) !== value)
		refuse(path, value, 'a number of milliseconds, or a distribution with a kind')
	else laws(value, path)
}

const fault = byKind({
	outage: fields({ kind, ...span, 'how?': oneOf('refuse', 'hang') }),
	slowdown: fields({ kind, ...span, factor: amount() }),
	errors: fields({ kind, ...span, rate: amount(0, 1), 'status?': count(400, 599) }),
})

const service = byKind(
	{
		server: fields({
			'kind?': kind,
			'workers?': count(1),
			serviceTime: duration,
			'queue?': fields({ 'limit?': count(0), 'order?': oneOf('fifo', 'lifo'), 'dropExpired?': flag, 'maxAgeMs?': amount() }),
			'latency?': duration,
			'faults?': list(fault),
			'rateLimit?': fields({ perSecond: rate, 'burst?': amount(1), 'retryAfter?': flag }),
			'dependsOn?': list(fields({ to: text, 'policy?': text, 'share?': amount(0, 1), 'passContext?': flag })),
		}),
		row: fields({ kind, 'latency?': duration }),
	},
	'server',
)

const atRate = fields({ kind, perSecond: rate, 'fromMs?': amount(), 'toMs?': amount() })

const client = fields({
	to: text,
	arrivals: byKind({
		poisson: atRate,
		constant: atRate,
		trace: fields({ kind, atMs: list(amount()) }),
		closed: fields({
			kind,
			users: count(1, 1e7),
			'think?': duration,
			'startWithinMs?': amount(),
			'callsEach?': count(1),
		}),
	}),
	'policy?': text,
	'instances?': count(1, 1e7),
	'goodWithinMs?': amount(),
	'deadlineMs?': amount(),
})

const policy: Shape = (value, path) => {
	if (typeof value === 'function' || Array.isArray(value)) return
	refuse(
		path,
		value,
		'a list of layers, or a function that makes a policy; a policy itself remembers, and every run must begin afresh',
	)
}

const scenarioShape = fields({
	'name?': text,
	'seed?': (value, path) => {
		if (typeof value !== 'string' && !Number.isFinite(value)) refuse(path, value, 'a number or a text')
	},
	'duration?': amount(Number.MIN_VALUE),
	'until?': (value, path) => {
		if (typeof value !== 'function' && value !== 'idle' && value !== 'recovered')
			refuse(path, value, "'idle', 'recovered' or a function")
	},
	services: named(service),
	clients: named(client),
	'policies?': named(policy),
	'maxEvents?': count(1),
	'stepMs?': amount(1),
})

export function checkScenario(scenario: Scenario): void {
	scenarioShape(scenario, '')
	const { services, clients, policies = {}, until, duration: end } = scenario
	const known: Known = { services: Object.keys(services), policies }
	if (Object.keys(clients).length === 0) refuse('clients', '{}', 'at least one client')
	for (const [name, model] of Object.entries(clients)) checkClient(`clients.${name}`, model, known)
	for (const [name, model] of Object.entries(services))
		if (model.kind !== 'row') checkServer(`services.${name}`, model, known)
	checkRing(services as Readonly<Record<string, ServerModel>>)
	checkEnd(scenario)
	if (until === 'recovered' && end === undefined)
		refuse('duration', undefined, "a number of milliseconds beside until: 'recovered', for it may never")
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
	refuse(`${path}.policy`, name, `the name of one of the policies: ${names}`)
}

function checkClient(path: string, model: ClientModel, known: Known): void {
	checkLink(model, path, known)
	const { arrivals, instances } = model
	if (arrivals.kind === 'trace')
		arrivals.atMs.forEach((at, index) => {
			if (index > 0 && at < (arrivals.atMs[index - 1] ?? 0))
				refuse(`${path}.arrivals.atMs[${index}]`, at, 'times in order')
		})
	if (instances !== undefined && arrivals.kind === 'closed' && instances > arrivals.users)
		refuse(`${path}.instances`, instances, `no more than there are users, ${arrivals.users}`)
}

function checkServer(path: string, model: ServerModel, known: Known): void {
	for (const [index, one] of (model.dependsOn ?? []).entries())
		checkLink(one, `${path}.dependsOn[${index}]`, known)
	model.faults?.forEach(({ fromMs, toMs }, index) => {
		if (toMs <= fromMs) refuse(`${path}.faults[${index}].toMs`, toMs, `more than fromMs, which is ${fromMs}`)
	})
	const { serviceTime: law } = model
	if (typeof law === 'number') return
	if (law.kind === 'uniform' && law.greatestMs < law.leastMs)
		refuse(`${path}.serviceTime.greatestMs`, law.greatestMs, `leastMs or more, which is ${law.leastMs}`)
	if (law.kind === 'lognormal' && law.p99Ms < law.medianMs)
		refuse(`${path}.serviceTime.p99Ms`, law.p99Ms, `medianMs or more, which is ${law.medianMs}`)
}

/** Services that ask each other in a ring would never answer. */
function checkRing(services: Readonly<Record<string, ServerModel>>): void {
	const follow = (name: string, trail: readonly string[]): void => {
		if (trail.includes(name))
			refuse(
				`services.${name}.dependsOn`,
				[...trail, name].join(' -> '),
				'services that do not ask each other in a ring',
			)
		for (const { to } of services[name]?.dependsOn ?? []) follow(to, [...trail, name])
	}
	for (const name of Object.keys(services)) follow(name, [])
}

function checkEnd({ duration: end, until, clients }: Scenario): void {
	if (end !== undefined) return
	const takes = "a number of milliseconds, or until: 'idle' with clients that come to an end"
	if (until === undefined) refuse('duration', undefined, takes)
	for (const [name, { arrivals }] of Object.entries(clients)) {
		const isEndless =
			arrivals.kind === 'closed'
				? (arrivals.callsEach ?? Infinity) === Infinity
				: arrivals.kind !== 'trace' && arrivals.toMs === undefined
		if (isEndless && typeof until !== 'function')
			refuse('duration', undefined, `a number of milliseconds, for clients.${name}.arrivals have no end`)
	}
}
