/** Validates faults. */
import { invalidOption } from '../../core/options/schema.ts'
import type { Fault } from './fault-model.ts'
import { kind, time, withPeriod } from './quantities.ts'
import type { Scenario } from './scenario.ts'
import { amount, byKind, count, fields, flag, list, listed, oneOf, type Shape, text } from './shape.ts'

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
export function checkFaults({ services, clients, faults: shared = [] }: Scenario): void {
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
	const servers = Object.entries(services).flatMap(([name, model]) =>
		model.kind === 'optimistic-lock' ? [] : [{ name, faults: model.faults ?? [] }],
	)
	for (const { name, faults } of servers) checkClasses(faults, `services.${name}.faults`)
	checkClasses(shared, 'faults')
	for (const [index, fault] of shared.entries())
		for (const [position, service] of fault.services.entries())
			oneOf(...servers.map(({ name }) => name))(service, `faults[${index}].services[${position}]`)
}
