/** Runs scripts in simulation and in production, and counts the differences. */
import { type Observed, produced, simulated } from './production.ts'
import { createScript } from './scripts.ts'

export interface Comparison {
	readonly scripts: number
	readonly calls: number
	readonly events: number
	/** The scripts that differ, with the first difference. */
	readonly differences: readonly string[]
}

export async function compareAll(
	orders: readonly (readonly string[])[],
	seeds: readonly number[],
	ignoresSignal: boolean,
): Promise<Comparison> {
	let [scripts, calls, events] = [0, 0, 0]
	const differences: string[] = []
	for (const order of orders)
		for (const seed of seeds) {
			const script = createScript(order, seed, ignoresSignal)
			const [simulation, production] = [simulated(script), await produced(script)]
			scripts++
			calls += script.atMs.length
			events += production.events
			const difference = firstDifference(simulation, production)
			if (difference) differences.push(`${order.join(' ')}, seed ${seed}: ${difference}`)
		}
	return { scripts, calls, events, differences }
}

function firstDifference(simulation: Observed, production: Observed): string | undefined {
	const [here, there] = [simulation, production].map(({ calls, ...counts }) => JSON.stringify(counts))
	if (here !== there) return `simulation ${here}, production ${there}`
	const index = simulation.calls.findIndex((text, at) => text !== production.calls[at])
	return index < 0
		? undefined
		: `simulation\n${simulation.calls[index]}\nproduction\n${production.calls[index]}`
}
