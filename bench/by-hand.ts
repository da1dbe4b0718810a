/** A handwritten retry: a loop, a catch, a wait that doubles, full jitter. */
export async function byHand<T>(
	fn: () => Promise<T>,
	delayMs: (attempt: number) => number = fullJitter,
): Promise<T> {
	for (let attempt = 0; ; attempt++) {
		try {
			return await fn()
		} catch (error) {
			if (attempt >= 3) throw error
			await new Promise((resolve) => setTimeout(resolve, delayMs(attempt)))
		}
	}
}

const fullJitter = (attempt: number): number => Math.random() * Math.min(30_000, 1000 * 2 ** attempt)

/**
 * The four policies, handwritten: a counter and a queue, a counter and a timestamp, the loop above, a race with a timer. It
 * shows the cost of the minimum, because the peers do more.
 */
export function byHandStack(): <T>(fn: () => Promise<T>) => Promise<T> {
	const queue: (() => void)[] = []
	let [active, failures, openUntil] = [0, 0, 0]
	return async (fn) => {
		if (active >= 10) {
			if (queue.length >= 50) throw new Error('full')
			await new Promise<void>((resolve) => queue.push(resolve))
		} else active++
		try {
			if (Date.now() < openUntil) throw new Error('open')
			const value = await byHand(() => withTimeout(fn))
			failures = 0
			return value
		} catch (error) {
			if (++failures >= 5) openUntil = Date.now() + 30_000
			throw error
		} finally {
			// The slot goes to the next in line, or is free.
			const next = queue.shift()
			if (next) next()
			else active--
		}
	}
}

function withTimeout<T>(fn: () => Promise<T>): Promise<T> {
	let timer: NodeJS.Timeout | undefined
	const tooLate = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new Error('timeout')), 5_000)
	})
	return Promise.race([fn(), tooLate]).finally(() => clearTimeout(timer))
}
