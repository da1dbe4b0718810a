/**
 * Shows a text that changes: in place on a terminal, otherwise one text after the other. It uses neither the alternate
 * screen nor a hidden cursor, because a process that is killed could not restore them.
 */
import { displayWidth } from '../../text/width.ts'
import type { CommandIo } from '../io.ts'

type Output = Pick<CommandIo, 'print' | 'isTTY' | 'columns' | 'rows' | 'env'>

export class Screen {
	readonly canRedraw: boolean
	readonly #io: Output
	/** Lines of the text on the screen. */
	#height = 0
	#size = ''

	constructor(io: Output) {
		this.#io = io
		this.canRedraw = io.isTTY && io.env['TERM'] !== 'dumb'
	}

	/** True if the window has another size than when the text was shown. */
	get isResized(): boolean {
		return this.canRedraw && this.#size !== '' && this.#size !== this.#currentSize()
	}

	show(lines: readonly string[]): void {
		const { columns, rows, print } = this.#io
		if (!this.canRedraw) {
			print(`${lines.join('\n')}\n\n`)
			return
		}
		// A line as wide as the terminal wraps, and wrapped lines cannot be overwritten.
		const shown = firstLines(lines, rows - 1).map((line) => clip(line, columns - 1))
		// A terminal wraps its lines again when it is resized, so their number is unknown.
		const start = this.isResized ? '\x1b[2J\x1b[H' : this.#height > 0 ? `\x1b[${this.#height}A` : ''
		print(`${start}${shown.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`)
		this.#height = shown.length
		this.#size = this.#currentSize()
	}

	#currentSize(): string {
		return `${this.#io.columns} ${this.#io.rows}`
	}
}

function firstLines(lines: readonly string[], rows: number): readonly string[] {
	const left = lines.length - rows
	if (left <= 0) return lines
	return [...lines.slice(0, Math.max(1, rows - 1)), `… ${left + 1} more lines: enlarge the window`]
}

/** A color code, which takes no column, or one character. */
const PART = new RegExp(`${'\x1b'}\\[[\\d;]*m|.`, 'gsu')

/** Returns what fits into `width`. Color codes stay, so that no color continues on the next line. */
export function clip(line: string, width: number): string {
	let left = width
	return (line.match(PART) ?? [])
		.filter((part) => {
			if (part.length > 1 && part.startsWith('\x1b')) return true
			left -= displayWidth(part)
			return left >= 0
		})
		.join('')
}
