import { countRestatements } from './dataset-restatement.ts';
import { PRODUCT_NAMES, REGIONS } from './dataset-vocabulary.ts';
import { addDays, readDayNumber } from './iso-day.ts';
import { decimalBetween, fractionOf, integerBetween, pickFrom } from './random.ts';

/** A product as one category lists it now; the same product may be in several categories. */
export interface CategoryProduct {
  readonly categoryId: string;
  readonly productId: string;
  readonly title: string;
  readonly price: number;
  readonly currency: string;
  readonly rating: number;
  readonly inStock: boolean;
  readonly updatedAt: string;
}

/** One place of a region's ranking of a day. */
export interface TopProduct {
  readonly date: string;
  readonly region: string;
  readonly rank: number;
  readonly productId: string;
  readonly score: number;
  readonly share: number;
}

// Fewer products than places, so that neighbouring categories share some: productId alone is not a key.
const PRODUCTS_PER_PLACE = 0.65;
const PRICE_CHANGE_SHARE = 0.06;
const LONGEST_UNCHANGED_DAYS = 60;
const RANKED_PRODUCTS = 40;

/** The catalogue as it stands on `day`, by category and product. */
export function buildCategoryProducts(
  seed: number,
  day: string,
  categories: number,
  perCategory: number,
): readonly CategoryProduct[] {
  const pool = Math.max(perCategory, Math.ceil(categories * perCategory * PRODUCTS_PER_PLACE));
  const products = Array.from({ length: pool }, (_, index) => buildProduct(seed, day, index));
  return Array.from({ length: categories }, (_, category) => {
    const start = Math.floor((category * pool) / categories);
    const listed = Array.from({ length: perCategory }, (_, place) => products[(start + place) % pool]);
    const categoryId = `cat_${String(category + 1).padStart(2, '0')}`;
    return listed
      .filter((product) => product !== undefined)
      .map((product) => ({ categoryId, ...product }))
      .sort((a, b) => (a.productId < b.productId ? -1 : 1));
  }).flat();
}

function buildProduct(seed: number, day: string, index: number): Omit<CategoryProduct, 'categoryId'> {
  const product = [seed, 'product', index] as const;
  const changed = findLastChange(seed, day, index);
  const currency = pickFrom(['USD', 'EUR'], ...product, 'currency');
  return {
    productId: writeProductId(index),
    title: `${pickFrom(PRODUCT_NAMES, ...product, 'name')} ${integerBetween(100, 999, ...product, 'model')}`,
    price: integerBetween(399, 49_999, ...product, 'price', changed) / 100,
    currency,
    rating: decimalBetween(2.5, 5, 1, ...product, 'rating'),
    inStock: fractionOf(...product, 'stock', changed) < 0.85,
    updatedAt: `${changed}T0${integerBetween(0, 5, ...product, 'hour')}:15:00Z`,
  };
}

function findLastChange(seed: number, day: string, index: number): string {
  const today = readDayNumber(day);
  for (let back = 0; back < LONGEST_UNCHANGED_DAYS; back++) {
    if (fractionOf(seed, 'change', index, today - back) < PRICE_CHANGE_SHARE) return addDays(day, -back);
  }
  // Every product changes on one fixed day of each round, so a long quiet one has a date as well.
  const round = (today + index) % LONGEST_UNCHANGED_DAYS;
  return addDays(day, -round);
}

/** The rankings of the days, in the order of the days, as they stand on `day`. */
export function buildTopProducts(
  seed: number,
  day: string,
  days: readonly string[],
  ranksPerRegion: number,
): readonly TopProduct[] {
  return days.flatMap((date) =>
    REGIONS.toSorted().flatMap((region) =>
      Array.from({ length: ranksPerRegion }, (_, i) => buildPlace(seed, day, { date, region, rank: i + 1 })),
    ),
  );
}

function buildPlace(
  seed: number,
  day: string,
  { date, region, rank }: Pick<TopProduct, 'date' | 'region' | 'rank'>,
): TopProduct {
  const version = countRestatements(day, date, seed, 'top', region, rank);
  const place = [seed, 'top', date, region, rank, version] as const;
  return {
    date,
    region,
    rank,
    // Two sellers of one product may both rank: (date, region, productId) is not a key.
    productId: writeProductId(integerBetween(0, RANKED_PRODUCTS - 1, ...place, 'product')),
    score: decimalBetween(100 - rank, 101 - rank, 3, ...place, 'score'),
    share: decimalBetween(0.01, 0.18, 4, ...place, 'share'),
  };
}

function writeProductId(index: number): string {
  return `prd_${String(index + 1).padStart(5, '0')}`;
}
