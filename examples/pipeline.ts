/** One policy for everything that talks to one service: made once, used everywhere, heard in one place. */
import { HttpError, permanent, pipeline, retry } from 'yaoki'

const stock = new Map([['tea', 2]])
let isBusy = true

async function buy(item: string, count: number): Promise<string> {
	// The first call of all finds the shop busy; a retry will help. An empty shelf is another matter.
	if (isBusy) {
		isBusy = false
		throw new HttpError(503)
	}
	const left = (stock.get(item) ?? 0) - count
	if (left < 0) throw permanent(new Error(`not enough ${item}`))
	stock.set(item, left)
	return `${count} ${item}`
}

const shop = pipeline({ name: 'shop' }, retry({ maxRetries: 3, baseDelayMs: 1 }))
shop.subscribe((event) => console.log(`event: ${event.type} ${'stop' in event ? event.stop : ''}`.trimEnd()))

// The same signature as `buy`.
const buySafely = shop.wrap(buy)
console.log(`bought ${await buySafely('tea', 2)}`)

// Or an answer that never throws.
const result = await shop.settle(() => buy('tea', 1))
console.log(result.ok ? `bought ${result.value}` : `failed: ${result.error}`)
