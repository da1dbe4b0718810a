/** Keeps the series of a service or destination together, so that recording a value needs one lookup and no new string. Bounded like the series. */
export class SeriesCache<Bundle> {
	readonly #maxSize: number
	readonly #createOverflow: () => Bundle
	readonly #bundles = new Map<string, Bundle>()
	#lastKey: string | undefined
	#last: Bundle | undefined
	#overflow: Bundle | undefined

	/** `createOverflow` creates the bundle of all keys beyond `maxSize`. */
	constructor(maxSize: number, createOverflow: () => Bundle) {
		this.#maxSize = maxSize
		this.#createOverflow = createOverflow
	}

	get size(): number {
		return this.#bundles.size
	}

	get(key: string, create: (key: string) => Bundle): Bundle {
		// Most sources have one key.
		if (key === this.#lastKey) return this.#last as Bundle
		const bundle = this.#bundles.get(key) ?? this.#add(key, create)
		this.#lastKey = key
		this.#last = bundle
		return bundle
	}

	#add(key: string, create: (key: string) => Bundle): Bundle {
		if (this.#bundles.size >= this.#maxSize) {
			this.#overflow ??= this.#createOverflow()
			return this.#overflow
		}
		const bundle = create(key)
		this.#bundles.set(key, bundle)
		return bundle
	}
}
