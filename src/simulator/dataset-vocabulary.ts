/** The companies whose visibility is measured. */
export const ENTITIES = ['acme', 'globex', 'initech'] as const;

/** The assistants that are asked. */
export const PROVIDERS = ['chatgpt', 'perplexity', 'gemini', 'copilot'] as const;

/** The markets that are measured. */
export const REGIONS = ['us', 'uk', 'de', 'fr'] as const;

/** The subjects that prompts and mentions belong to. */
export const TOPICS = [
  { topicId: 'tp_01', topicName: 'Running shoes' },
  { topicId: 'tp_02', topicName: 'Project management' },
  { topicId: 'tp_03', topicName: 'Coffee & espresso' },
  { topicId: 'tp_04', topicName: 'Home office' },
  { topicId: 'tp_05', topicName: 'Travel insurance' },
  { topicId: 'tp_06', topicName: 'Skincare' },
  { topicId: 'tp_07', topicName: 'Électroménager' },
  { topicId: 'tp_08', topicName: 'Data warehouses' },
] as const;

/** Ids of all topics. */
export const TOPIC_IDS: readonly string[] = TOPICS.map((topic) => topic.topicId);

/** Sites that answers cite. */
export const DOMAINS = [
  'reviews.example.com',
  'blog.example.org',
  'forum.example.net',
  'news.example.com',
  'shop.example.de',
] as const;

/** Ways a prompt asks about a topic; with the emoji, quotes and scripts that real prompts hold. */
export const PROMPT_FORMS = [
  'What is the best choice for {}?',
  'Which brand is "number one" in {}? 🏆',
  "I'm new to {} – where do I start?",
  'Compare the top 5 in {}; give pros/cons.',
  'Quelle marque choisir pour {} ?',
  'Is {} worth the money in 2026? 🤔💸',
  '{}: was ist günstig & gut?',
  '{} のおすすめは?',
] as const;

/** Labels on prompts. */
export const TAGS = ['brand', 'comparison', 'price', 'how-to', 'local', 'seasonal'] as const;

/** Product nouns, quotes and accents included. */
export const PRODUCT_NAMES = [
  'Trail Runner',
  'Espresso Machine',
  '27" Monitor',
  'Standing Desk',
  "Chef's Knife",
  'Crème Hydratante',
  'Noise-Cancelling Headphones',
  'Travel Backpack 40 l',
  'Desk Lamp, dimmable',
] as const;
