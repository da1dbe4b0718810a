import type { Layer, Plan, Seat } from './call.ts'
import type { Surroundings } from './layer.ts'

/** A layer that has not been given its place yet. */
export interface Unseated extends Surroundings {
	readonly layer: Layer
}

/** Gives layers their places, outermost first, inside of `outer`. */
export function seated(layers: readonly Unseated[], outer?: Seat): Seat | undefined {
	const [first, ...rest] = layers
	if (!first) return undefined
	const { layer, runtime, classify } = first
	const seat: Seat & { next: Seat | undefined } = {
		layer,
		place: outer ? outer.place + 1 : 0,
		outer,
		next: undefined,
		runtime,
		classify,
	}
	seat.next = seated(rest, seat)
	return seat
}

export const planOf = (name: string, layers: readonly Unseated[], around: Surroundings): Plan => ({
	name,
	first: seated(layers),
	drive: layers.find(({ layer }) => layer.drive)?.layer.drive,
	runtime: around.runtime,
	classify: around.classify,
	streak: 0,
})
