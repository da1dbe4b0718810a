/** Rows of four numbers that grow: a million events are 32 MB here, and many times that as objects. */
import { at } from './growable-array.ts'

const WIDTH = 4

/** Told one row after the other. */
export type EachRow = (end: number, callMs: number, attemptMs: number, code: number) => void

export class EventColumns {
	#cells = new Float64Array(0)
	length = 0

	add(end: number, callMs: number, attemptMs: number, code: number): void {
		const row = this.length++ * WIDTH
		if (row === this.#cells.length) this.#grow()
		const cells = this.#cells
		cells[row] = end
		cells[row + 1] = callMs
		cells[row + 2] = attemptMs
		cells[row + 3] = code
	}

	each(tell: EachRow): void {
		const cells = this.#cells
		for (let row = 0; row < this.length * WIDTH; row += WIDTH)
			tell(at(cells, row), at(cells, row + 1), at(cells, row + 2), at(cells, row + 3))
	}

	#grow(): void {
		const cells = new Float64Array(Math.max(16 * WIDTH, this.#cells.length * 2))
		cells.set(this.#cells)
		this.#cells = cells
	}
}
