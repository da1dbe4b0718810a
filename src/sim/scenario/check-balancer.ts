/** Validates load balancers, autoscaling, and faults of single instances. */
import { invalidOption } from '../../core/options/schema.ts'
import { positiveTime, time } from './quantities.ts'
import type { Scenario, ServerModel } from './scenario.ts'
import { amount, count, fields, oneOf, type Shape } from './shape.ts'

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

/** Checks that the numbers of instances fit together, and that a run with autoscaling ends. */
export function checkBalancers({ services, faults: shared = [], durationMs }: Scenario): void {
	const servers = Object.entries(services).flatMap(([name, model]) =>
		model.kind === 'optimistic-lock' ? [] : [{ name, model }],
	)
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
		invalidOption('durationMs', undefined, `a number of milliseconds, because ${path} scales`)
}
