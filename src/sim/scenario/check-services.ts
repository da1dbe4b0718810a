/** Validates load balancers, autoscaling and faults. */
import { invalidOption } from '../../core/options/schema.ts'
import type { Fault, Scenario, ServerModel } from './scenario.ts'
import {
	amount,
	byKind,
	count,
	fields,
	flag,
	kind,
	list,
	listed,
	oneOf,
	positiveTime,
	type Shape,
	text,
	time,
	withPeriod,
} from './shape.ts'

/** Each instance is looked at for a choice. */
const MAX_INSTANCES = 10_000

const instanceCount = count(1, MAX_INSTANCES)

export const balancerFields: Readonly<Record<string, Shape>> = {
	'instances?': instanceCount,
	'loadBalancer?': fields({
		'strategy?': oneOf('round-robin', 'least-requests', 'two-choices', 'random'),
		'ejection?': fields({
			'consecutiveFailures?': count(1),
			'ejectMs?': positiveTime,
			'maxEjectedShare?': amount(0, 1),
		}),
	}),
	'autoscaling?': fields({
		'targetUtilization?': amount(0.01, 1),
		'minInstances?': instanceCount,
		maxInstances: instanceCount,
		'everyMs?': positiveTime,
		'startMs?': time,
		'scaleDownAfterMs?': time,
	}),
}

/** Checks how faults, instances and autoscaling fit together and to the rest of the scenario. */
export function checkServices(scenario: Scenario): void {
	const servers = Object.entries(scenario.services).flatMap(([name, model]) =>
		model.kind === 'optimistic-lock' ? [] : [{ name, model }],
	)
	checkFaults(scenario, servers)
	checkInstances(scenario, servers)
}

type Servers = readonly { readonly name: string; readonly model: ServerModel }[]

/** Checks that the numbers of instances fit together, and that a run with autoscaling ends. */
function checkInstances({ faults: shared = [], durationMs }: Scenario, servers: Servers): void {
	for (const { name, model } of servers) {
		const path = `services.${name}`
		if (model.autoscaling) checkAutoscaling(path, model, durationMs)
		for (const [index, fault] of (model.faults ?? []).entries())
			checkHit(`${path}.faults[${index}].instances`, fault.instances, model)
	}
	for (const [index, fault] of shared.entries())
		for (const { name, model } of servers)
			if (fault.services.includes(name)) checkHit(`faults[${index}].instances`, fault.instances, model)
}

function checkHit(path: string, hit: number | undefined, { instances = 1 }: ServerModel): void {
	if (hit !== undefined && hit > instances)
		invalidOption(path, hit, `at most the number of instances of the service, ${instances}`)
}

function checkAutoscaling(path: string, model: ServerModel, durationMs: number | undefined): void {
	const { instances = 1, workers = 1, autoscaling } = model
	const { minInstances = 1, maxInstances = instances } = autoscaling ?? {}
	if (workers === Infinity)
		invalidOption(`${path}.workers`, workers, 'a number, because autoscaling needs a utilization')
	if (instances < minInstances || instances > maxInstances)
		invalidOption(
			`${path}.instances`,
			instances,
			`a number from minInstances to maxInstances, ${minInstances} to ${maxInstances}`,
		)
	// It decides again and again, so such a run is never idle.
	if (durationMs === undefined)
		invalidOption('durationMs', undefined, `a number of milliseconds, because ${path} uses autoscaling`)
}

const period = { kind, fromMs: time, toMs: time, 'instances?': count(1) }
const factor = amount(0, 1e6)

const FIELDS: Readonly<Record<Fault['kind'], Readonly<Record<string, Shape>>>> = {
	outage: { 'mode?': oneOf('refuse', 'hang'), 'share?': amount(0, 1) },
	pause: {},
	restart: { 'coldFactor?': factor, 'warmUpMs?': time, 'isRolling?': flag, 'drainMs?': time },
	slowdown: { factor },
	errors: { rate: amount(0, 1), 'status?': count(400, 599), 'class?': text },
}

const withFields = (more: Readonly<Record<string, Shape>>): Shape =>
	byKind(
		Object.fromEntries(
			Object.entries(FIELDS).map(([name, own]) => [name, withPeriod(fields({ ...period, ...own, ...more }))]),
		),
	)

export const faultShape: Shape = withFields({})
export const sharedFaultShape: Shape = withFields({ services: list(text, 1) })

/** Checks that faults name services that can have faults, and classes that exist. */
function checkFaults({ clients, faults: shared = [] }: Scenario, servers: Servers): void {
	const classes = Object.values(clients).flatMap((client) => Object.keys(client.classes ?? {}))
	const checkClasses = (faults: readonly Fault[], path: string) => {
		for (const [index, fault] of faults.entries())
			if (fault.kind === 'errors' && fault.class !== undefined && !classes.includes(fault.class))
				invalidOption(
					`${path}[${index}].class`,
					fault.class,
					classes.length > 0 ? listed(classes) : 'the name of a class of a client, and there is none',
				)
	}
	for (const { name, model } of servers) checkClasses(model.faults ?? [], `services.${name}.faults`)
	checkClasses(shared, 'faults')
	for (const [index, fault] of shared.entries())
		for (const [position, service] of fault.services.entries())
			oneOf(...servers.map(({ name }) => name))(service, `faults[${index}].services[${position}]`)
}
