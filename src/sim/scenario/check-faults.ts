/** Validates faults. */
import type { Fault } from './fault-model.ts'
import { kind, time, withPeriod } from './quantities.ts'
import type { Scenario } from './scenario.ts'
import { amount, byKind, count, fields, list, oneOf, type Shape, text } from './shape.ts'

const period = { kind, fromMs: time, toMs: time }
const factor = amount(0, 1e6)

const FIELDS: Readonly<Record<Fault['kind'], Readonly<Record<string, Shape>>>> = {
	outage: { 'mode?': oneOf('refuse', 'hang') },
	pause: {},
	restart: { 'coldFactor?': factor, 'warmUpMs?': time },
	slowdown: { factor },
	errors: { rate: amount(0, 1), 'status?': count(400, 599) },
}

const withFields = (more: Readonly<Record<string, Shape>>): Shape =>
	byKind(
		Object.fromEntries(
			Object.entries(FIELDS).map(([name, own]) => [name, withPeriod(fields({ ...period, ...own, ...more }))]),
		),
	)

export const faultShape: Shape = withFields({})
export const sharedFaultShape: Shape = withFields({ services: list(text, 1) })

/** Checks that shared faults name services that can have faults. */
export function checkSharedFaults({ services, faults = [] }: Scenario): void {
	const servers = Object.keys(services).filter((name) => services[name]?.kind !== 'optimistic-lock')
	for (const [index, fault] of faults.entries())
		for (const [position, name] of fault.services.entries())
			oneOf(...servers)(name, `faults[${index}].services[${position}]`)
}
