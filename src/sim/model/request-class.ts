/**
 * The kind of a request: how long it takes, and how important it is. A class is drawn once per call, from a stream of its own, so
 * that a retry belongs to the class of its call and clients with and without classes have the same arrivals.
 */
import type { ClassMeter } from '../measure/client-meter.ts'
import type { RequestClassModel } from '../scenario/scenario.ts'

export interface RequestClass {
	readonly name: string
	readonly serviceTimeFactor: number
	readonly priority: number
	readonly meter: ClassMeter
}

/** Returns a function that draws a class by the shares of the models. */
export function classDraw(
	models: Readonly<Record<string, RequestClassModel>>,
	random: () => number,
	meterOf: (name: string) => ClassMeter,
): () => RequestClass {
	let sum = 0
	const classes = Object.entries(models).map(([name, { share, serviceTimeFactor = 1, priority = 0 }]) => {
		sum += share
		return { upTo: sum, requestClass: { name, serviceTimeFactor, priority, meter: meterOf(name) } }
	})
	const last = classes.findLast(({ requestClass }) => (models[requestClass.name]?.share ?? 0) > 0)
	return () => {
		const drawn = random()
		// Shares add up to 1 except for rounding.
		const found = classes.find(({ upTo }) => drawn < upTo) ?? last
		return found?.requestClass as RequestClass
	}
}
