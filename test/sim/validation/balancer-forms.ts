/** Mean latencies behind load balancers, in units of the mean service time, which is exponential. `load` is that of each instance. */

/** Round robin: every instance gets each n-th call of a Poisson process, so it is an Erlang(n)/M/1 queue. Its root is found by iteration. */
export function roundRobinLatency(instances: number, load: number): number {
	let busy = load
	for (let step = 0; step < 10_000; step++) {
		const rate = instances * load
		busy = (rate / (rate + 1 - busy)) ** instances
	}
	return 1 / (1 - busy)
}

/** Two random choices among infinitely many instances, by Mitzenmacher and by Vvedenskaya, Dobrushin and Karpelevich. */
export function twoChoicesLatency(load: number): number {
	let sum = 0
	for (let i = 1; i < 12; i++) sum += load ** (2 ** i - 2)
	return sum
}

/** The shortest of two queues, from the balance equations of its Markov chain, solved by iteration up to 60 requests in each queue. */
export function shortestOfTwoLatency(load: number): number {
	const size = 60
	const rate = 2 * load
	const index = (a: number, b: number) => a * size + b
	let chances = new Float64Array(size * size)
	chances[0] = 1
	// Uniformized: in each step an arrival or an end, in proportion to their rates.
	const all = rate + 2
	for (let step = 0; step < 6_000; step++) {
		const next = new Float64Array(size * size)
		for (let a = 0; a < size; a++)
			for (let b = 0; b < size; b++) {
				const chance = chances[index(a, b)] ?? 0
				if (chance < 1e-18) continue
				const add = (to: number, by: number) => {
					next[to] = (next[to] ?? 0) + (chance * by) / all
				}
				const joins = (first: boolean) =>
					index(Math.min(size - 1, a + (first ? 1 : 0)), Math.min(size - 1, b + (first ? 0 : 1)))
				if (a === b) {
					add(joins(true), rate / 2)
					add(joins(false), rate / 2)
				} else add(joins(a < b), rate)
				add(index(Math.max(0, a - 1), b), 1)
				add(index(a, Math.max(0, b - 1)), 1)
			}
		chances = next
	}
	let present = 0
	for (let a = 0; a < size; a++)
		for (let b = 0; b < size; b++) present += (a + b) * (chances[index(a, b)] ?? 0)
	return present / rate
}
