/** A node of the syntax tree that vite's parser returns. */
export interface Node {
	readonly type: string
	readonly start: number
	readonly end: number
	readonly [part: string]: unknown
}

export const isNode = (value: unknown): value is Node =>
	typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
