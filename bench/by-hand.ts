/** What people write when they write it themselves: a loop, a catch, a sleep that doubles, full jitter. */
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
