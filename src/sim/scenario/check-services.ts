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
export function checkServices({ services, clients, faults: shared = [], durationMs }: Scenario): void {
	const servers = new Map<string, ServerModel>()
	for (const [name, model] of Object.entries(services))
		if (model.kind !== 'optimistic-lock') servers.set(name, model)
	const classes = Object.values(clients).flatMap((client) => Object.keys(client.classes ?? {}))
	const known = classes.length > 0 ? listed(classes) : 'the name of a class of a client, and there is none'
	const checkFault = (fault: Fault, path: string, names: readonly string[]) => {
		if (fault.kind === 'errors' && fault.class !== undefined && !classes.includes(fault.class))
			invalidOption(`${path}.class`, fault.class, known)
		for (const { instances = 1 } of names.flatMap((name) => servers.get(name) ?? []))
			if (fault.instances !== undefined && fault.instances > instances) {
				const most = `at most the number of instances of the service, ${instances}`
				invalidOption(`${path}.instances`, fault.instances, most)
			}
	}
	for (const [name, model] of servers) {
		const path = `services.${name}`
		if (model.autoscaling) checkAutoscaling(path, model, durationMs)
		for (const [index, fault] of (model.faults ?? []).entries())
			checkFault(fault, `${path}.faults[${index}]`, [name])
	}
	for (const [index, fault] of shared.entries()) {
		const path = `faults[${index}]`
		for (const [position, service] of fault.services.entries())
			oneOf(...servers.keys())(service, `${path}.services[${position}]`)
		checkFault(fault, path, fault.services)
	}
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
